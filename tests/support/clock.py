"""A clock that only a test advances, so that the test's result does not depend on the speed of the
machine."""

from __future__ import annotations

import threading
import time

# Seconds that `sleep` waits in real time: enough to let other threads and processes work, and too
# short to slow the test.
YIELD_S = 0.001


class ManualClock:
    """A clock whose time passes only when a test calls `advance` or, if `runs` is true, when code
    calls `sleep`.

    If `runs` is true, `sleep` advances the time without waiting, so waiting code reaches its
    deadline at once. If `runs` is false, the time stands still, so waiting code never reaches a
    deadline and waits for its condition. `sleep` then lets other threads and processes work.
    """

    def __init__(self, start_s: float = 100.0, runs: bool = True) -> None:
        self.now_s = start_s
        self.sleeps: list[float] = []
        self._runs = runs
        self._lock = threading.Lock()

    def advance(self, duration_s: float) -> None:
        """Advances the time by this number of seconds."""
        with self._lock:
            self.now_s += duration_s

    def monotonic_s(self) -> float:
        """Returns the current time in seconds."""
        return self.now_s

    def unix_ns(self) -> int:
        """Returns the current time as Unix time in ns, as if the clock had been started in 1970."""
        return round(self.now_s * 1e9)

    def processor_s(self) -> float:
        """Returns the current time as processor seconds, as if the process were never idle."""
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        """Records the duration in `sleeps`. If `runs` is true, also advances the time by the
        duration."""
        self.sleeps.append(duration_s)
        if self._runs:
            self.advance(duration_s)
        else:
            time.sleep(YIELD_S)
