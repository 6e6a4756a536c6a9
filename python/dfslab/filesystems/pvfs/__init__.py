"""PVFS: files striped over I/O servers, metadata at one manager, no cache at the client."""
