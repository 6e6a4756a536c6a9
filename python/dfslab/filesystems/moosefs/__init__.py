"""Describes MooseFS: one metadata server, and chunks that are copied along a chain of
chunkservers.
"""
