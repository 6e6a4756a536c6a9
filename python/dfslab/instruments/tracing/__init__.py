"""Reads spans, call profiles and server counters, and declares the types for them."""
