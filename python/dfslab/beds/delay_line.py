"""The process that holds packets back: `python -m dfslab.beds.delay_line LINES`.

Prints "ready" once it holds every queue, and at its end (SIGINT) what passed.
"""

from __future__ import annotations

import sys

from dfslab import _core


def main(lines: str) -> int:
    """Hold packets until interrupted; 1 when a queue cannot be had."""
    try:
        print(_core.delay_line(lines, lambda: print("ready", flush=True)), flush=True)
    except (_core.InputError, _core.RunError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
