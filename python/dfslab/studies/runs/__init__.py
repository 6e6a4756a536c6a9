"""Runs: their folders on disk, sweeps over configurations, the search for the highest rate, and
CSV files."""
