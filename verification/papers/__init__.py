"""Lists every table, figure, equation and claim of the five papers, each with the result that
dfslab obtains for it.

`python -m verification.papers` writes the page verification/papers.md from the tables *.toml.
"""
