"""Any file system that Hadoop has a client for, by that client."""
