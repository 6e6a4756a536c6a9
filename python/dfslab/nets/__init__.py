"""Petri nets in Python: built, read from files, drawn, played step by step, and fired by the
engine."""
