"""The command line."""

from __future__ import annotations

import gc
import signal
import sys

# New objects between two searches for cyclic garbage. Python's default of 700 makes the searches a sixth
# of the start of a command, which makes many objects that stay.
OBJECTS_BETWEEN_SEARCHES = 50_000


def main() -> None:
    """Entry point of `dfslab`; Ctrl-C gives one line, also while the commands are still loading.

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
    """Answer requests that need no command-line parser, whose import takes longer than the
    answer."""
    if words in ([], ["--help"]):
        from dfslab.cli.table import overview

        print(overview())
        if not words:
            sys.exit(2)
    elif words == ["--version"]:
        from importlib.metadata import version

        print(f"dfslab {version('dfslab')}")
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
