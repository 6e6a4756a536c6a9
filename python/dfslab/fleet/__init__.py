"""Runs the load generator in this process, or in agents on several hosts at once."""
