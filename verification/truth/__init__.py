"""Judges predictions and advice by published measurements of other authors. Each module computes
the figures of one table in verification/data. Some modules also compare the predictions with a
simple baseline."""
