"""Finds out what exists at a place: its file system, its servers, and the hardware of this
machine.
"""
