"""The blind campaign: configurations are drawn by a seed, their rates are predicted and frozen, and
then measured on testbeds."""
