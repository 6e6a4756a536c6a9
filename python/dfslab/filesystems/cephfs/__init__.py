"""CephFS: names at a metadata server, objects spread over OSDs by hashing."""
