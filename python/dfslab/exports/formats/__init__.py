"""Exporters: one file each, found by discovery."""
