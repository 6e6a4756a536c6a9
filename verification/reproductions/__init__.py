"""Recomputes the experiments of the papers from recordings. Each module computes the figures of
one paper or of one section; `wu_record` and `liu_record` write recordings from run folders."""
