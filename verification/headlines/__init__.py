"""Headline figures: a few figures of each experiment that show how much its results depend on a
constant. The headline figures are computed again each time the constant is varied. Each module
computes the headline figures of one subject. table.py has the table of all experiments."""
