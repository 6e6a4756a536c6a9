"""Uncertain hardware of a deployment, and hardware that is faster or slower."""
