"""Compares single statements of the papers with what dfslab computes. A probe is a function without
arguments that returns the result of one row."""
