"""Prints progress as separate lines at regular intervals, for output that is a log instead of a
terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable

from dfslab.cli.live.time_left import TimeLeft
from dfslab.spec.clock import REAL
from dfslab.spec.printable import printable

EVERY_S = 15.0  # seconds between two lines; a run that is shorter prints nothing


class LineReporter:
    """A progress callback that prints at most one line per `EVERY_S` seconds to standard error.

    Each line contains the time since the start (minutes:seconds), the proportion of the work that
    is done, the current activity, and the estimated time left if it is known.
    """

    watch = None  # live values of workload runs are shown only in a terminal

    def __init__(self, clock: Callable[[], float] = REAL.monotonic_s) -> None:
        self._clock = clock
        self._began_s = clock()
        self._due_s = self._began_s + EVERY_S
        self._share = 0.0
        self._left = TimeLeft(clock)

    def __call__(self, done: float, total: float, text: str, *remaining_s: float) -> None:
        now_s = self._clock()
        # A preparation during a run, such as the start of a testbed, reports 0 for `done`. The
        # printed proportion must not fall to 0 then, so the last proportion is kept.
        self._share = done / total if done and total else self._share
        self._left.begin(text)
        self._left.report(done >= total, remaining_s)
        if now_s < self._due_s:
            return
        self._due_s = now_s + EVERY_S
        minutes, seconds = divmod(int(now_s - self._began_s), 60)
        line = f"{minutes:3d}:{seconds:02d} {100 * self._share:3.0f} % {text}"
        if left := self._left.text:
            line += f", {left}"
        print(printable(line), file=sys.stderr, flush=True)
