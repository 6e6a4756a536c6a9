"""Descriptions of file systems: one folder each."""
