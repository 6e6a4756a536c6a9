"""Sections of the page: one file each, found by discovery, ordered by their `order`."""
