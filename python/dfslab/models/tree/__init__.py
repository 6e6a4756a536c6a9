"""Derives costs, formulas, invocations and predictions from operation trees."""
