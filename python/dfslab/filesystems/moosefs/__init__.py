"""MooseFS: one metadata server, chunks copied along a chain of chunkservers."""
