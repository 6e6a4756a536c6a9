"""The process that delays packets between hosts. The process is started as
`dfslab.testbeds.hosts.delay_line LINES`. LINES is the delays of the links as JSON.

The process prints "ready" when every packet queue is open. When the process ends (SIGINT), it
prints a summary of the packets that passed.
"""

from __future__ import annotations

import sys

from dfslab import _core
from dfslab.core_errors import translated


def main(lines: str) -> int:
    """Delays packets until the process is interrupted. Returns 1 if `lines` is malformed, or if a
    packet queue cannot be opened.

    `lines`: the delays of the links as JSON.
    """
    try:
        with translated(delay_line=lines):
            report = _core.delay_line(lines, lambda: print("ready", flush=True))
        print(report, flush=True)
    except (_core.InputError, _core.RunError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
