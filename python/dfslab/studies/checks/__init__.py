"""The lie detector: typed evidence of a figure, rules that judge the evidence, and their findings."""
