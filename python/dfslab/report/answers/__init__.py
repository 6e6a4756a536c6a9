"""What a run answers: one line for each configuration, and one to three sentences."""
