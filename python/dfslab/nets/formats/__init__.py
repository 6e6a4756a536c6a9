"""The net formats, which discovery finds: one module for each."""
