"""Workloads, one file each: parameters in, a stream specification out."""
