"""Workloads as streams of operations, shared by the load generator and the Petri net."""
