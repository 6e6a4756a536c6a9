"""Predictions and advice for public measurements by others: each module computes the figures of one
table of verification/data, and those of a simple baseline where there is one."""
