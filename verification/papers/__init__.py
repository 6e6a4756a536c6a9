"""Every table, figure, equation and claim of the five papers, each with what the product obtains.

`python -m verification.papers` writes the page verification/papers.md from the tables *.toml.
"""
