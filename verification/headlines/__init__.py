"""Headline figures of experiments that show how much depends on a varied constant. Each module
computes the headline figures of one subject; table.py has the table of all experiments."""
