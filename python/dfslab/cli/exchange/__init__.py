"""Other tools at the command line: their options in, their results in."""
