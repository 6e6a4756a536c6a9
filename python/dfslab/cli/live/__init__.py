"""Shows the progress of commands: a live view in a terminal, or progress lines in a log."""
