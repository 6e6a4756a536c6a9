"""Reads files that other tools wrote: recorded operations, as of strace and Darshan, which are
converted to operations to replay, and reports of benchmarks, which are converted to results."""
