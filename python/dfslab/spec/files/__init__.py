"""Reading and writing of the user's files: inputs from any source, outputs written completely and
never over other files."""
