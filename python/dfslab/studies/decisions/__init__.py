"""Studies that lead to decisions: gains of changes with intervals, advice, plans, comparisons."""
