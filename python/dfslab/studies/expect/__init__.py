"""Compares what a place should deliver, by its description and hardware, with what it delivers."""
