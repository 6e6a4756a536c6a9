"""A clock that a test moves by hand, so that its result does not depend on the machine's speed."""

from __future__ import annotations

import threading
import time

# Long enough to let other threads and processes work, short enough not to be felt.
YIELD_S = 0.001


class ManualClock:
    """Time that passes only by `advance`, and by `sleep` where the clock runs.

    A clock that runs passes exactly what is slept: code that waits reaches its deadline at once.
    One that does not run stands still however long the code waits, so that no deadline ends the
    wait but what the code waits for; its `sleep` lets other threads and processes work.
    """

    def __init__(self, start_s: float = 100.0, runs: bool = True) -> None:
        self.now_s = start_s
        self.sleeps: list[float] = []
        self._runs = runs
        self._lock = threading.Lock()

    def advance(self, duration_s: float) -> None:
        """Let time pass."""
        with self._lock:
            self.now_s += duration_s

    def monotonic_s(self) -> float:
        """The time now."""
        return self.now_s

    def unix_ns(self) -> int:
        """The same as a date: the clock began in 1970."""
        return round(self.now_s * 1e9)

    def processor_s(self) -> float:
        """The same: this process is never idle."""
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        """Pass the time where the clock runs; note how long in any case."""
        self.sleeps.append(duration_s)
        if self._runs:
            self.advance(duration_s)
        else:
            time.sleep(YIELD_S)
