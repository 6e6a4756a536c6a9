"""Readers of other tools' result files, one module for each format."""
