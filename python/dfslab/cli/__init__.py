"""The command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of `dfslab`; Ctrl-C is one line, also while the commands are still loading."""
    try:
        from dfslab.cli.commands import main as commands

        commands()
    except KeyboardInterrupt:
        print("dfslab: interrupted; what was finished is kept", file=sys.stderr)
        sys.exit(130)
