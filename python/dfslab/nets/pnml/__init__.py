"""Nets in PNML: reading and writing."""
