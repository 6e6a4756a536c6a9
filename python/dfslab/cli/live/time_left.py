"""Counts down the estimated time until the measurements of a run end. Without an estimate, counts
how long the present step of the work has lasted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dfslab.spec.clock import REAL

# Seconds after which the duration of a step is shown. The steps of most stages are shorter.
SHOWN_FROM_S = 1.5


class TimeLeft:
    """The estimated time until the measurements end. Each report of progress can bring a new
    estimate. Until the next estimate, the time decreases as the clock runs.

    `clock` returns the present time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = REAL.monotonic_s) -> None:
        self._clock = clock
        self._end_s: float | None = None
        self._step, self._step_began_s = "", clock()

    def begin(self, step: str) -> None:
        """Receives the present step of the work. The duration of a step is counted from the first
        report of this step."""
        if step != self._step:
            self._step, self._step_began_s = step, self._clock()

    def report(self, is_done: bool, remaining_s: Sequence[float]) -> None:
        """Receives a report of progress. `remaining_s`: the estimated seconds that remain; empty if
        the report has no estimate. `is_done`: whether the reported work has ended.

        If the report has no estimate, the last estimate stays valid, unless the work has ended.
        """
        if remaining_s:
            self._end_s = self._clock() + remaining_s[0]
        elif is_done:
            self._end_s = None

    @property
    def text(self) -> str:
        """The remaining time in minutes and seconds, such as "about 1:05 left"; "" if there is no
        estimate, or if the estimated end has passed."""
        left_s = 0 if self._end_s is None else round(self._end_s - self._clock())
        return f"about {left_s // 60}:{left_s % 60:02d} left" if left_s > 0 else ""

    @property
    def step_text(self) -> str:
        """How long the present step has lasted, such as "this step: 0:12"; "" if the step has begun
        less than SHOWN_FROM_S ago."""
        lasted_s = self._clock() - self._step_began_s
        if lasted_s < SHOWN_FROM_S:
            return ""
        return f"this step: {int(lasted_s) // 60}:{int(lasted_s) % 60:02d}"
