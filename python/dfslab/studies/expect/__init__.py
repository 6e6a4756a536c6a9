"""Compares what a place should deliver with what it delivers. A place is a directory, a mounted
file system or a testbed. The expectation comes from the file system's description and the hardware.
"""
