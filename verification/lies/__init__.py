"""A collection of recorded storage benchmarks with documented faults, and of runs without faults.
The rules of `dfslab check` have to distinguish them."""
