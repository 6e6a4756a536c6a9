"""Describes a directory on this machine. It is the smallest description of a file system and the
template for new ones."""
