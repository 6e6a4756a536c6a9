"""Describes the Google File System: one master, replicated chunks, and data that is pushed along a
chain of replicas.
"""
