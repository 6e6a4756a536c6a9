"""Descriptions: scenarios, deployments, file systems as operation trees, and units."""
