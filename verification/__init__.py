"""Recomputes the experiments of the papers from every recording of real runs, and compares the
computed figures with a table of pass criteria."""
