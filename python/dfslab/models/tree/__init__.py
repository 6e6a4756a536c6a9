"""Readers of operation trees: costs, formulas, invocations, predictions."""
