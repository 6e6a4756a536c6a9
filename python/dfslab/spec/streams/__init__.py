"""Workloads as streams of operations, which the load generator executes and the Petri net
simulates.
"""
