"""Commands that need no scenario file: the scenario is made of a directory and options."""
