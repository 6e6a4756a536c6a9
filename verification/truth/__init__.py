"""Predictions of public measurements by others: each module computes the figures of one table of
verification/data, and those of a simple baseline."""
