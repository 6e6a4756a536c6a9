"""Types of the JSON documents that a controller and its agents send each other, one per line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypedDict

from dfslab.fleet.watch import LiveCounts


class SpanColumns(TypedDict):
    """The spans (timed operations and parts of operations) of a workload run, one list for each
    column. The Rust core makes its span table from this form.

    Times are Unix times; `parent_id` is 0 for a logical operation; `thread` is the client.
    """

    name: list[str]
    start_unix_ns: list[int]
    end_unix_ns: list[int]
    span_id: list[int]
    parent_id: list[int]
    thread: list[int]
    bytes: list[int]


class ControllerCommand(TypedDict, total=False):
    """A message that the controller sends after the plan: the agreed start in seconds of one of
    two clocks, or a request to stop."""

    start_at_monotonic_s: float
    start_at_unix_s: float
    stop: bool


class Clocks(TypedDict):
    """The readings of the clocks of an agent's host in seconds, taken when the agent is at a
    barrier.

    `boot` is the id of the boot to which CLOCK_MONOTONIC belongs.
    """

    monotonic_s: float
    unix_s: float
    boot: str


class AgentAnswer(TypedDict, total=False):
    """The last document of an agent: the results of its shard, or an error.

    Results are a report, spans and executed operations (base64). An error has a kind, a text, and
    the paths that could not be removed.
    """

    report: object
    spans: SpanColumns
    recorded: str
    error: str
    text: str
    left: list[str]


class AgentDocument(AgentAnswer, total=False):
    """Any document that an agent sends. The document has `ready` if the agent is at a barrier,
    `progress` and `seen` (the counts of LiveCounts) while a phase runs, or the fields of an answer
    at the end."""

    ready: Clocks
    progress: tuple[float, str]
    seen: LiveCounts


class HostClocks(NamedTuple):
    """The readings of the clocks of a worker's host in seconds.

    `boot` is the id of the boot to which CLOCK_MONOTONIC belongs; `host` is the name of the host.
    """

    unix_s: float
    monotonic_s: float
    boot: str
    host: str


@dataclass(frozen=True)
class Heard:
    """The output of an agent so far, as a Dask worker returns it.

    `ended` is the reason why the agent ended, None while it runs.
    """

    times_ready: int
    progress: tuple[float, str]
    observed: LiveCounts
    ended: str | None
    answer: AgentAnswer | None
