"""What a controller and its agents send each other: JSON documents, one a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypedDict


class SpanColumns(TypedDict):
    """The spans of a load run by column, as a table of the core is made from them.

    Times are Unix times; `parent_id` is 0 for a logical operation; `thread` is the client.
    """

    name: list[str]
    start_unix_ns: list[int]
    end_unix_ns: list[int]
    span_id: list[int]
    parent_id: list[int]
    thread: list[int]
    bytes: list[int]


class Command(TypedDict, total=False):
    """From the controller, after the plan: the agreed start by one of two clocks, or a stop."""

    start_at_monotonic_s: float
    start_at_unix_s: float
    stop: bool


class Clocks(TypedDict):
    """Readings of an agent's clocks at a barrier, and the boot that CLOCK_MONOTONIC belongs to."""

    monotonic_s: float
    unix_s: float
    boot: str


class Answer(TypedDict, total=False):
    """The last document of an agent: a report with its spans and executed operations (base64), or
    the kind and text of an error, with the paths that could not be removed."""

    report: object
    spans: SpanColumns
    recorded: str
    error: str
    text: str
    left: list[str]


class AgentDocument(Answer, total=False):
    """Any document of an agent: its readiness, its progress, or its answer."""

    ready: Clocks
    progress: tuple[float, str]
    seen: tuple[int, int, int, int]


class HostClocks(NamedTuple):
    """The clocks of a host, the boot that CLOCK_MONOTONIC belongs to, and the host's name."""

    unix_s: float
    monotonic_s: float
    boot: str
    host: str


@dataclass(frozen=True)
class Heard:
    """An agent's output so far, as a Dask worker passes it on; `ended` says how it ended."""

    times_ready: int
    progress: tuple[float, str]
    observed: tuple[int, ...]
    ended: str | None
    answer: Answer | None
