"""Recomputes the papers' experiments from every recording and compares the figures with a table of
pass criteria.
"""
