"""Studies over several results: sweeps, comparison, validation, advice."""
