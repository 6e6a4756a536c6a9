"""Limits of the work with nets."""

# Largest number of markings of a state space that are explored if the user gives no other number.
MARKINGS_MAX = 100_000
