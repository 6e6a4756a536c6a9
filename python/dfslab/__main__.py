"""Runs the command line: `python -m dfslab` is the command `dfslab`."""

from __future__ import annotations

from dfslab.cli import main

if __name__ == "__main__":
    main()
