"""Largest size of a state space that commands explore by default."""

# Largest number of markings of a state space that are explored if the user gives no other number.
MARKINGS_MAX = 100_000
