"""Nets in PNML: read and written."""
