"""CephFS: metadata servers beside an object store that places by computation."""
