"""The museum: recorded storage benchmarks with documented faults, and runs without faults."""
