"""The command line of dfslab: it parses arguments, calls the laboratory and prints results."""

from __future__ import annotations

import gc
import signal
import sys

# Number of new objects after which Python searches for cyclic garbage. With Python's default of
# 700, the searches take a sixth of the start time of a command, which creates many permanent
# objects.
OBJECTS_BETWEEN_SEARCHES = 50_000


def main() -> None:
    """Entry point of the command `dfslab`. Ctrl-C prints one line, even while the commands are
    being imported.

    SIGTERM (end of a batch job) and SIGHUP (lost terminal) act as Ctrl-C, unless they are ignored.
    """
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES)
    try:
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, signal.default_int_handler)
        if not _at_once(sys.argv[1:]):
            from dfslab.cli.root import main as commands

            commands()
    except KeyboardInterrupt:
        print("dfslab: interrupted; what was finished is kept", file=sys.stderr)
        sys.exit(130)


def _at_once(words: list[str]) -> bool:
    """Answers requests such as `--help` without importing the command-line parser. Returns whether
    the request was answered.

    Importing the parser takes longer than the answer.
    """
    if words in ([], ["--help"], ["-h"]):
        from dfslab.cli.command_table import overview

        print(overview())
        if not words:
            sys.exit(2)
    elif words == ["--version"]:
        from dfslab.cli.version import text

        print(text())
    elif words in (["list"], ["list", "--json"]):
        from dfslab.cli.listing import show
        from dfslab.discover import DiscoveryError

        try:
            show("--json" in words)
        except DiscoveryError as error:
            print(f"dfslab: {error}", file=sys.stderr)
            sys.exit(1)
    else:
        return False
    return True
