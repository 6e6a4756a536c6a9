"""Descriptions of file systems: roles, parameters, memory, mounts, counters."""
