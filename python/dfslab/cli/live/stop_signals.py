"""Recognises when several signals are one and the same request to end a command."""

from __future__ import annotations

import signal
from types import FrameType

from dfslab.spec.clock import REAL, Clock

# A signal counts as a repetition if it arrives at most this many seconds after an equal signal.
# Repetitions occur for two reasons. `timeout` sends its signal twice. A service manager sends a
# signal to every process of a command, so that the child process receives it from the service
# manager and from its parent.
REPEATED_S = 1.0


class StopRequests:
    """Distinguishes a new request to end the command from a repeated signal."""

    def __init__(self, clock: Clock = REAL) -> None:
        self._clock = clock
        self._arrived_s: dict[int, float] = {}

    def is_new(self, number: int) -> bool:
        """Returns whether the signal `number` is a new request, and records its time of arrival."""
        now_s, before_s = self._clock.monotonic_s(), self._arrived_s.get(number)
        self._arrived_s[number] = now_s
        return before_s is None or now_s - before_s > REPEATED_S

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handles Ctrl-C as Python does, by raising KeyboardInterrupt. A repeated signal is
        ignored, because it would interrupt the clean-up that the first signal began."""
        if self.is_new(number):
            signal.default_int_handler(number, frame)
