"""Studies that support decisions: gains of changes with intervals, advice, and comparisons of
runs."""
