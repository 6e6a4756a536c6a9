"""Exports results, traces and descriptions in the formats of other programs."""
