"""Data types for the counters of a server. The counters are sums over all calls of one type,
without records of single calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

CostClass = Literal[
    "service", "disk", "queue", "lock", "blocked", "send", "receive", "sleep", "detail"
]


@dataclass(frozen=True)
class Counted:
    """Sums over all calls of one type; times are in nanoseconds. `total_ns`, `min_ns` and `max_ns`
    are None if the server does not report them.

    `above`: name of a type of call whose sums include the sums of this type; "" if there is none.
    The row of the type `above` precedes this row.
    """

    step: str
    count: int
    above: str = ""
    kind: CostClass = "service"
    errors: int = 0
    bytes: int = 0
    total_ns: int | None = None
    min_ns: int | None = None
    max_ns: int | None = None


@dataclass(frozen=True)
class Counters:
    """The counters of one process of a file system. `service`: the role of the process. `instance`:
    its number or address. `rows`: the sums for each type of call."""

    service: str
    instance: str
    rows: tuple[Counted, ...]


@dataclass(frozen=True)
class CounterFormat:
    """What the `counters.py` of a file system's folder declares, as `FORMAT`.

    `source` is the command or file that shows the counters, as an operator knows it.
    `recognise(head)` returns whether a file with these first bytes contains such counters.
    `read(text, name)` returns the counters of every process in the `text` of a file called `name`.
    The function `read` raises NotUnderstood where the text is malformed.
    """

    source: str
    recognise: Callable[[bytes], bool]
    read: Callable[[str, str], list[Counters]]


class NotUnderstood(Exception):
    """A text of counters has a recognised format but is malformed. The message names the
    position.
    """


# Limit of counters. A number of calls, bytes or nanoseconds that reaches this value is rejected as
# invalid. As a time, the limit is 32 years.
MOST = 1e18


def amount(text: str, what: str, scale: float = 1.0) -> float:
    """Returns the number in `text` times `scale`. Raises NotUnderstood if `text` is not a number,
    or if the result is negative or reaches MOST. The error calls the number `what`."""
    try:
        value = float(text) * scale
    except ValueError:
        value = -1.0
    if not 0 <= value < MOST:
        raise NotUnderstood(f"{what} is {text[:40]!r}, no number of calls, bytes or seconds")
    return value
