"""Figures that a tool states twice, or that follow from other figures in the same file."""
