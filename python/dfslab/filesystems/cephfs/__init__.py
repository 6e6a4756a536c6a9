"""CephFS: metadata servers and an object store with computed placement."""
