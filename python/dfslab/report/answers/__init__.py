"""The answers of a run: one line for each configuration, and a summary of one to three
sentences."""
