"""Reads the monitors of `.cpn` files, and translates them for the engine."""
