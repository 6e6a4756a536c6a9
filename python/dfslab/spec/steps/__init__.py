"""The step language: operations of a file system as small trees of steps."""
