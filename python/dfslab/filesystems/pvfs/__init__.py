"""Describes PVFS: files are striped over I/O servers, metadata is at one manager, and clients have
no cache.
"""
