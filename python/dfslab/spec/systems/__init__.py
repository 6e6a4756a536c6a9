"""The types of a file system's description: roles, parameters, memory, mounts, counters."""
