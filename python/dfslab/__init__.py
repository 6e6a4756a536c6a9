"""A performance laboratory for distributed file systems."""
