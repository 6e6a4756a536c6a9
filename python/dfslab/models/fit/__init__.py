"""Calibration: estimates constants and functions of the models from measured runs."""
