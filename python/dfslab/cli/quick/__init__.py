"""Commands that need no scenario file, because they derive the scenario from a directory and
options."""
