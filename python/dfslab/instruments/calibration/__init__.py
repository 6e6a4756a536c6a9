"""Measures hardware: of this machine, and of the hosts of a testbed."""
