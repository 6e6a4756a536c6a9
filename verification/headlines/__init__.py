"""Headline figures of experiments that show how much depends on a varied constant. Each module
computes those of one subject; variation.py has the table of all experiments."""
