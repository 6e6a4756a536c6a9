"""Readers of spans, call profiles and server counters, and the types that they return."""
