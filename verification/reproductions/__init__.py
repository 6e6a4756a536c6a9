"""Recomputes the experiments of the papers from recordings. Most modules compute the figures of
one paper or of one section of a paper. `wu_record` and `liu_record` write recordings from run
folders."""
