"""Runs on disk and in progress: stores, sweeps, searches, tables."""
