"""Comparisons of two runs, and rules that decide when a comparison fails."""
