"""Describes NFS: one server handles all calls of clients."""
