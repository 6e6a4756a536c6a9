"""A file system: a directory with a made-up ticket server before it."""
