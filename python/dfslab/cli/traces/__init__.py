"""The commands on traces: recording, reading, merging, ranking, drawing."""
