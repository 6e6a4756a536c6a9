"""Analyses of traces: comparison of cohorts, savings by faster steps, bottlenecks of
deployments, and Parquet tables."""
