"""Readers of spans, call profiles and counters, and what they are converted to."""
