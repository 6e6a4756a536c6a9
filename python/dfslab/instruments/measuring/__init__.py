"""Checks and additional records of a measurement: faults, cold caches, warm-up, and intervals of
rates."""
