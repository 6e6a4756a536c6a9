"""Judges predictions and advice by measurements that others have published. Each module computes
the figures of one table of verification/data. Some modules also compare them with a simple
baseline."""
