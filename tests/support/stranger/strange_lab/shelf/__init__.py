"""A file system that is a directory behind an invented ticket server."""
