"""Finds out what a place is: its file system, its servers, and the hardware of this machine."""
