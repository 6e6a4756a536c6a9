"""The importers, one module each, which discovery finds."""
