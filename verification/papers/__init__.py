"""Lists every table, figure, equation and claim of five papers (DFS-Perf, Kumar, Liu, Nguyen and
Wu), each with the result that dfslab obtains for it.

`python -m verification.papers` writes the page verification/papers.md from the tables *.toml.
"""
