"""What is described: scenarios, deployments, file systems as step trees, and units."""
