"""Petri nets in Python: nets are built or read from files, drawn, played step by step, and fired
by the engine."""
