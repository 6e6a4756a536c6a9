"""Carries out changes, tunings and planted faults on testbeds, records what they gained, and
computes the errors of the predictions."""
