"""The clock that code takes as a parameter for reading time and sleeping, so that a test can
control time.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """A clock that is passed as a parameter: monotonic time, date, processor time and sleep."""

    def monotonic_s(self) -> float:
        """Returns seconds of CLOCK_MONOTONIC, comparable between processes of one machine."""
        ...

    def unix_ns(self) -> int:
        """Returns nanoseconds since 1970, as in file timestamps; not monotonic."""
        ...

    def processor_s(self) -> float:
        """Returns seconds of processor time that this process has used."""
        ...

    def sleep(self, duration_s: float) -> None:
        """Returns after `duration_s` seconds."""
        ...


class RealClock:
    """The machine's own clock."""

    monotonic_s = staticmethod(time.monotonic)
    unix_ns = staticmethod(time.time_ns)
    processor_s = staticmethod(time.process_time)
    sleep = staticmethod(time.sleep)


REAL = RealClock()


def date(clock: Clock = REAL) -> datetime:
    """Returns the present date and time in UTC, for records."""
    return datetime.fromtimestamp(clock.unix_ns() * 1e-9, UTC)
