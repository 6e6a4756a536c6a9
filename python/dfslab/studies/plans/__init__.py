"""The cheapest deployments that reach targets: targets, deployments, sizes, the search."""
