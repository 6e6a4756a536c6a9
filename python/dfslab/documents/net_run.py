"""What a run of a net is asked to do: monitors by name, stops and declared stations."""

from __future__ import annotations

from typing import Literal, TypedDict

from pydantic import AliasChoices, Field

from dfslab.documents.document import StrictDocument


class CountMonitor(StrictDocument):
    """Counts the firings of a transition.

    `when` is a condition over its variables; the first `warm_up_count` firings are not counted.
    """

    kind: Literal["count"] = "count"
    transition: str
    when: str | None = None
    warm_up_count: int | None = None


class MarkingMonitor(StrictDocument):
    """Observes the available tokens of a place: mean over time, maximum, last."""

    kind: Literal["marking"] = "marking"
    place: str


class LogMonitor(StrictDocument):
    """Logs the values of expressions over a transition's variables at each firing.

    Rows above `limit` are counted and dropped.
    """

    kind: Literal["log"] = "log"
    transition: str
    fields: list[str] = []
    when: str | None = None
    limit: int | None = None
    warm_up_count: int | None = None


class SojournMonitor(StrictDocument):
    """Measures the time from a firing of one transition to that of another with an equal key.

    `to_key` is the key at the end, where it is a different expression there.
    """

    kind: Literal["sojourn"] = "sojourn"
    from_: str = Field(validation_alias=AliasChoices("from_", "from"), serialization_alias="from")
    to: str
    key: str
    to_key: str | None = None
    warm_up_count: int | None = None


MonitorDefinition = CountMonitor | MarkingMonitor | LogMonitor | SojournMonitor


class DeclaredStation(StrictDocument):
    """A station: the place of its idle servers, and the place that only served tokens enter."""

    idle: str
    served: str


class Until(StrictDocument):
    """Ends a replication after `count` observations of the monitor with that name."""

    monitor: str
    count: int


class RunLimits(TypedDict, total=False):
    """How often and how long a net is fired; what is left out has the engine's default.

    `end_time_s` and `warm_up_s` are simulated seconds. More than `max_instant_firings` at one
    instant are a livelock, more than `max_tokens` tokens growth without bound: both are RunFailed.
    """

    seed: int
    replications: int
    threads: int
    end_time_s: float
    max_firings: int
    max_instant_firings: int
    max_tokens: int
    warm_up_s: float
