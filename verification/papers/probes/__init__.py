"""Compares single statements of the papers with results of dfslab. Each comparison is a probe, a
function without arguments. A probe returns the result for one row of the table of statements."""
