"""Alluxio: a cache of workers over another store."""
