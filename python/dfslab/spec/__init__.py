"""Descriptions: scenarios, deployments, workloads, file systems as operation trees, and units."""
