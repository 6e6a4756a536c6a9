"""Carries out changes, tunings and planted faults on testbeds, records the results, and computes
the errors of the predictions."""
