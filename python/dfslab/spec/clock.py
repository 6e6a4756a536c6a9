"""The clock that logic reads and sleeps by: a parameter, so that a test moves time by hand."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Source of time: monotonic time, date, processor time, and sleeping."""

    def monotonic_s(self) -> float:
        """Seconds of CLOCK_MONOTONIC, comparable between processes of one machine."""
        ...

    def unix_ns(self) -> int:
        """Nanoseconds since 1970, as in file timestamps; not monotonic."""
        ...

    def processor_s(self) -> float:
        """Seconds of processor time that this process has used."""
        ...

    def sleep(self, duration_s: float) -> None:
        """Return after `duration_s` seconds."""
        ...


class RealClock:
    """The machine's own clock."""

    monotonic_s = staticmethod(time.monotonic)
    unix_ns = staticmethod(time.time_ns)
    processor_s = staticmethod(time.process_time)
    sleep = staticmethod(time.sleep)


REAL = RealClock()


def date(clock: Clock = REAL) -> datetime:
    """The date in UTC, for records."""
    return datetime.fromtimestamp(clock.unix_ns() * 1e-9, UTC)
