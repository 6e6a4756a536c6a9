"""MooseFS: one master, chunks of 64 MiB on chunkservers that hand copies on."""
