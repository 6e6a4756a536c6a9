"""The clock that code takes as a parameter for reading time and sleeping, so that a test can
control time. The module also reads the texts of dates in records and in the files of other tools.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
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
# Seconds since 1970 with 9 or 10 digits before the point: dates from 1973 to 2286.
SECONDS = re.compile(r"\d{9,10}(\.\d+)?")
# The format of a date in UTC that Java's `Date` prints, in the notation of `strptime`.
UTC_FORM = "%a %b %d %H:%M:%S UTC %Y"


def date(clock: Clock = REAL) -> datetime:
    """Returns the present date and time in UTC, for records."""
    return datetime.fromtimestamp(clock.unix_ns() * 1e-9, UTC)


def recorded(text: str) -> datetime | None:
    """Returns the date in a record of dfslab, in UTC; None for an empty or malformed text. A date
    without a time zone counts as UTC, because dfslab records dates in UTC only."""
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def utc_text(text: str) -> str:
    """Returns a date that another tool wrote as ISO 8601 in UTC, such as
    "2026-01-02T03:04:05.000+00:00". Returns "" if the text states no date with a time zone. A
    number counts as seconds since 1970."""
    found = _zoned(text.strip())
    return found.isoformat(timespec="milliseconds") if found else ""


def _zoned(text: str) -> datetime | None:
    for read in (_of_seconds, _of_iso, _of_words):
        with suppress(ValueError, OverflowError, OSError):
            return read(text)
    return None


def _of_seconds(text: str) -> datetime:
    if not SECONDS.fullmatch(text):
        raise ValueError(text)
    return datetime.fromtimestamp(float(text), UTC)


def _of_iso(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(text)
    return found.astimezone(UTC)


def _of_words(text: str) -> datetime:
    return datetime.strptime(text.replace(" GMT ", " UTC "), UTC_FORM).replace(tzinfo=UTC)
