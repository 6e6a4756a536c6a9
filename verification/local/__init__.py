"""Compares predicted rates of local file systems with rates that were measured on emulated
disks."""
