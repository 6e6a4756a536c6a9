"""Importers: one file each, found by discovery."""
