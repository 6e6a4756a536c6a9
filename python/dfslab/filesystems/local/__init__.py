"""Describes a directory on this machine. It is the smallest description and the template for new
ones.
"""
