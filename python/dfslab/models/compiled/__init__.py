"""Compiles operation trees into timed coloured Petri nets."""
