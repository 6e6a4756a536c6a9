"""A clock that a test advances, so that its result does not depend on the machine's speed."""

from __future__ import annotations

import threading
import time

# Seconds that let other threads and processes work, and hardly slow the test.
YIELD_S = 0.001


class ManualClock:
    """A clock whose time passes only by `advance`, or by `sleep` if `runs` is set.

    With `runs`, `sleep` advances the time, so code that waits reaches its deadline at once. Without
    `runs`, the time stands still, so code that waits never reaches a deadline and waits for its
    condition; `sleep` lets other threads and processes work.
    """

    def __init__(self, start_s: float = 100.0, runs: bool = True) -> None:
        self.now_s = start_s
        self.sleeps: list[float] = []
        self._runs = runs
        self._lock = threading.Lock()

    def advance(self, duration_s: float) -> None:
        """Advance the time by this number of seconds."""
        with self._lock:
            self.now_s += duration_s

    def monotonic_s(self) -> float:
        """The current time in seconds."""
        return self.now_s

    def unix_ns(self) -> int:
        """The current time as Unix time in ns; the clock starts in 1970."""
        return round(self.now_s * 1e9)

    def processor_s(self) -> float:
        """The current time as processor seconds, as if the process were never idle."""
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        """Record the duration, and advance the time if the clock runs."""
        self.sleeps.append(duration_s)
        if self._runs:
            self.advance(duration_s)
        else:
            time.sleep(YIELD_S)
