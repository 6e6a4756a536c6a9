"""NFS version 3: one server, stateless requests, COMMIT."""
