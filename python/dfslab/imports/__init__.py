"""Reads files that other tools wrote. Recordings of operations, such as those of strace and
Darshan, become operations to replay. Reports of benchmarks become results.
"""
