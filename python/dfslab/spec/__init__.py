"""Reads and checks what a user describes: scenarios, deployments, workloads, and file systems as
operation trees.
"""
