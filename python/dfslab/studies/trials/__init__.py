"""Trials carry out changes of a configuration on a real file system and measure them in interleaved
pairs of runs."""
