"""Builds the documentation site: pages from the code, and the documents of the repository."""
