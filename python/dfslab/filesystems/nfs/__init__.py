"""NFS: one server that handles all calls of clients."""
