"""Trials: changes of a configuration that are carried out on a real file system and measured in
interleaved pairs."""
