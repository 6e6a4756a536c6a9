"""What a measurement checks and records in addition to its load."""
