"""Describes any file system that has a Hadoop client and is accessed through that client."""
