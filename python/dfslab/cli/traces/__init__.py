"""The commands on traces: they record, read, merge, rank and draw traces."""
