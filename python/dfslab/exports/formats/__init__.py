"""The exporters, one module each, which discovery finds."""
