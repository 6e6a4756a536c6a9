"""Progress of what runs: a live view in a terminal, lines in a log."""
