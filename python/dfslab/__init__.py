"""dfslab is a performance laboratory for distributed file systems."""
