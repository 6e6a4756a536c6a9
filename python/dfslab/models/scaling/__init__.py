"""Models that predict the performance of a system at other loads or sizes, without a description of
the system's operations."""
