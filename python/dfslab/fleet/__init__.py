"""Where a load runs: in this process, or in agents at several places at once."""
