"""Recomputes the experiments of the papers from all recordings of real runs. Compares the computed
figures with a table of pass criteria."""
