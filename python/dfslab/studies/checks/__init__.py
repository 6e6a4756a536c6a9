"""The lie detector: rules that judge the evidence of a figure, and their findings."""
