"""Judges predictions and advice by measurements that others have published. Each module computes
the figures of one table in verification/data. Some modules also compare the predictions with a
simple baseline."""
