"""The documents of decisions that are stored and printed: advice, and gains of given changes."""
