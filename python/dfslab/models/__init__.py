"""Performance models: calibration, formulas, nets, regressions, baselines."""
