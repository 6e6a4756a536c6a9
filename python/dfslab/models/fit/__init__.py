"""Calibration: constants and functions estimated from measured runs."""
