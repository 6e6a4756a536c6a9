"""Progress lines for logs: one line at intervals, where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from dfslab.spec.clock import REAL
from dfslab.spec.printable import printable

EVERY_S = 15.0  # shorter work prints nothing


class LineReporter:
    """`reporter(done, total, text)` prints a line on standard error at most every `EVERY_S`
    seconds: minutes since the start, share done, current work."""

    watch = None  # a live view of loads exists in terminals only

    def __init__(self, clock: Callable[[], float] = REAL.monotonic_s) -> None:
        self._clock = clock
        self._began_s = clock()
        self._due_s = self._began_s + EVERY_S
        self._share = 0.0

    def __call__(self, done: float, total: float, text: str, *_: Any) -> None:
        now_s = self._clock()
        # Preparations in between, such as a new testbed, restart at zero: they do not reset the
        # share.
        self._share = done / total if done and total else self._share
        if now_s < self._due_s:
            return
        self._due_s = now_s + EVERY_S
        minutes, seconds = divmod(int(now_s - self._began_s), 60)
        line = f"{minutes:3d}:{seconds:02d} {100 * self._share:3.0f} % {text}"
        print(printable(line), file=sys.stderr, flush=True)
