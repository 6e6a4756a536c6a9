"""What predicts: calibration, formulas, nets, regressions, baselines."""
