"""Describes CephFS: metadata servers, and an object store that computes where objects are
placed.
"""
