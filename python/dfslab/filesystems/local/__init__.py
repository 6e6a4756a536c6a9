"""A directory on this machine: the smallest description, and the template for new ones."""
