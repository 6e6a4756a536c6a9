"""A directory on this machine: the smallest description, and the one to copy."""
