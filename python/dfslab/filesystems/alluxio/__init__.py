"""Describes Alluxio, a cache in the memory of worker nodes for the files of another store."""
