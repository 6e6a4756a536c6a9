"""Renders results: the page, its sections, terminal tables, and diagrams of descriptions."""
