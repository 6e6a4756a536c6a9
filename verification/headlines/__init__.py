"""Headline figures: the few figures of each experiment that are computed again while a constant is
varied, to show how much they depend on it. Each module computes the headline figures of one
subject; table.py has the table of all experiments."""
