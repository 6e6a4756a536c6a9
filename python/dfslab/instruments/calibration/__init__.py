"""Measurements of hardware: this machine, and the hosts of a testbed."""
