"""Performance models of file systems: calibration, formulas, Petri nets, regressions, and
baselines.
"""
