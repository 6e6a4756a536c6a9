"""The documents of traces: call trees, paths of calls, and the results of studies of traces."""
