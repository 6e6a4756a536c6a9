"""Reading and writing of the user's files. Inputs may be files, pipes or standard input. Outputs
are written completely or not at all, and replace an existing file only with `--force`."""
