"""NFS version 3: one server; clients send every call to it."""
