"""Regressions by the method of least squares."""
