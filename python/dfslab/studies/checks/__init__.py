"""The plausibility rules (the "lie detector"): they judge the evidence about a figure and report
findings."""
