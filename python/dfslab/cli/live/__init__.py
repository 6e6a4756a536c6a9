"""Progress of commands: a live view in a terminal, progress lines in a log."""
