"""Analyses of traces: cohorts, savings, bottlenecks of deployments, tables."""
