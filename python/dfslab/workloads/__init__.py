"""The workloads that dfslab knows, one file each. A workload converts its parameters to a stream
specification or a command line.
"""
