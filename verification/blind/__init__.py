"""The blind campaign, in which predictions are made before measurements. Configurations are drawn
at random from a seed, their predicted rates are stored and no longer changed, and then their rates
are measured on testbeds."""
