"""Analyses of traces: comparison of cohorts, time saved by faster steps, bottlenecks of
deployments, and Parquet tables."""
