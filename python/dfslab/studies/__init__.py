"""Studies analyse the results of a whole run: comparison, validation, bottlenecks, advice.

The subfolders hold the modules for designed experiments, run folders, traces and decisions.
"""
