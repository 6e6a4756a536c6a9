"""PVFS: a parallel file system with one metadata manager and striped I/O servers."""
