"""Nets of CPN Tools: read, evaluated, and written."""
