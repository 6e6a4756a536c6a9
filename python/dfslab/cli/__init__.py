"""The command line."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Entry point of `dfslab`; Ctrl-C is one line, also while the commands are still loading.

    A batch system's end of a job and a lost terminal are taken as Ctrl-C, unless they are ignored.
    """
    try:
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, signal.default_int_handler)
        from dfslab.cli.commands import main as commands

        commands()
    except KeyboardInterrupt:
        print("dfslab: interrupted; what was finished is kept", file=sys.stderr)
        sys.exit(130)
