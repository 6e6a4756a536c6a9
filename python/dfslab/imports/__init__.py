"""Reads files that other tools wrote. Recorded operations, such as those of strace and Darshan, are
converted to operations to replay. Reports of benchmarks are converted to results."""
