"""Readers of the result files of other tools. Each module reads one format."""
