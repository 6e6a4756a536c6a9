"""Runs `python -m dfslab.cli` as the command `dfslab`."""

from dfslab.cli import main

main()
