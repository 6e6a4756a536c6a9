"""The blind campaign compares predictions with measurements that are made later. Configurations are
drawn at random from a seed. Their predicted rates are stored and no longer changed. Then the rates
of these configurations are measured on testbeds."""
