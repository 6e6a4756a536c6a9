"""NFS: one server that clients call for everything."""
