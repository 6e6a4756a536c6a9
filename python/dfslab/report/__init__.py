"""Renders results for people: the HTML page and its sections, tables in the terminal, and diagrams
of file systems' descriptions."""
