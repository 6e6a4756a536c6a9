"""The command line."""

from dfslab.cli.commands import main

__all__ = ["main"]
