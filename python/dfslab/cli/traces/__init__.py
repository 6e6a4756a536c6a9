"""The commands on traces."""
