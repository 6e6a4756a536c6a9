"""Alluxio: a master, workers that keep blocks near, and a store underneath."""
