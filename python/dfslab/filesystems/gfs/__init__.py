"""The Google File System: one master, chunks in replicas, data pushed along a chain."""
