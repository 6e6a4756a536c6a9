"""Describes Alluxio, a cache in the memory of workers over another store."""
