"""Plans: the search for the cheapest deployments that reach performance targets."""
