"""Descriptions of the file systems that dfslab knows, each in one folder."""
