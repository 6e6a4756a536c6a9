"""Merged calls, of which a trace profile is made; generated from core/trace/merged_schema.json."""

from __future__ import annotations

from dfslab.documents.document import StrictDocument


class MergedNode(StrictDocument):
    """One node of merged call trees: calls of one name and one parent node. Sums may be negative
    where a process's counters were reset between two profiles.
    """

    # Index of the parent node; none for a root.
    above: int | None = None
    # Bytes moved.
    bytes: int
    # Cost class, which says what the calls do or wait for; none if only `waits` is known.
    cost_class: str | None = None
    # Number of calls, including the estimated number of unrecorded ones.
    count: int
    # Number of calls that reported an error.
    errors: int
    # The processes that made the calls; empty if they are unknown.
    instances: list[str]
    # Longest duration, nanoseconds; none if only sums are known.
    max_ns: int | None = None
    # Shortest duration, nanoseconds; none if only sums are known.
    min_ns: int | None = None
    # Name of the calls.
    name: str
    # The sums over the calls of each host or process, by its name.
    of: dict[str, tuple[int, int, int, int, float | None]]
    # Median duration, nanoseconds; none if only sums are known.
    p50_ns: int | None = None
    # 99th percentile of durations, nanoseconds; none if only sums are known.
    p99_ns: int | None = None
    # Whether the rankings include the calls.
    ranked: bool
    # Number of recorded calls.
    read: int
    # Standard deviation of durations, nanoseconds; none if only sums are known.
    sd_ns: float | None = None
    # Sum of self times, nanoseconds, exact.
    self_ns: int
    # Time for which other processes worked on the calls, nanoseconds; none if unknown.
    served_ns: int | None = None
    # Name by which the ranking by name merges calls: the name without the process's name.
    step: str
    # Number of calls with known durations; none if all durations are known.
    timed: int | None = None
    # Sum of durations, nanoseconds, exact.
    total_ns: int
    # Number of recorded calls that wait.
    waits: int


class MergedCalls(StrictDocument):
    """The calls of traces or of processes' call profiles, merged into the nodes of call
    trees."""

    # Number of calls recorded.
    calls: int
    # The nodes of the merged trees. A parent precedes its children.
    nodes: list[MergedNode]
    # Number of call trees recorded.
    trees: int
