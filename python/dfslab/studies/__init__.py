"""Studies analyse the results of a whole run: comparison, validation, bottlenecks, advice.

The subfolders hold designs of experiments, run folders and trace analyses.
"""
