"""Limits of the work with nets."""

# Largest number of markings of a state space that are explored without another request.
MARKINGS_MAX = 100_000
