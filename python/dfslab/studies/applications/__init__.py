"""Advice from the I/O counters of an application: what to change in its I/O, and how much time each
change would save."""
