"""Describes BeeGFS: chunks are spread over storage targets; metadata servers and targets can be
mirrored in pairs (buddies).
"""
