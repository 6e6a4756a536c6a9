"""What weighs several results together: sweeps, comparison, validation, advice."""
