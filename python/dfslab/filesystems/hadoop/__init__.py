"""Any file system that has a Hadoop client, accessed through that client."""
