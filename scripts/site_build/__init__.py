"""Builds the documentation site from pages that are generated from the code, and from the documents
of the repository.
"""
