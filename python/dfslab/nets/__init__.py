"""Petri nets in Python. The modules build nets, read them from files, draw them, play them step by
step, and run them in the engine."""
