"""A file system: a directory behind an invented ticket server."""
