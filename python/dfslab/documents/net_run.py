"""The options for running a Petri net: monitors, limits and declared stations."""

from __future__ import annotations

from typing import Literal, TypedDict

from pydantic import AliasChoices, Field

from dfslab.documents.document import StrictDocument


class CountMonitor(StrictDocument):
    """A monitor that counts the firings of a transition.

    `when` is a condition over the transition's variables. The first `warm_up_count` firings are not
    counted.
    """

    kind: Literal["count"] = "count"
    transition: str
    when: str | None = None
    warm_up_count: int | None = None


class MarkingMonitor(StrictDocument):
    """A monitor that observes the number of available tokens of a place. It reports the mean over
    time, the maximum, and the last number.
    """

    kind: Literal["marking"] = "marking"
    place: str


class LogMonitor(StrictDocument):
    """A monitor that logs the values of expressions over a transition's variables at each firing.

    Rows beyond `limit` are counted and dropped.
    """

    kind: Literal["log"] = "log"
    transition: str
    fields: list[str] = []
    when: str | None = None
    limit: int | None = None
    warm_up_count: int | None = None


class SojournMonitor(StrictDocument):
    """A monitor that measures the time from a firing of one transition to a firing of another one.
    A key, which is an expression over the transition's variables, must have equal values at both.

    `to_key` is the key at the second transition, if it is a different expression there.
    """

    kind: Literal["sojourn"] = "sojourn"
    from_: str = Field(validation_alias=AliasChoices("from_", "from"), serialization_alias="from")
    to: str
    key: str
    to_key: str | None = None
    warm_up_count: int | None = None


MonitorDefinition = CountMonitor | MarkingMonitor | LogMonitor | SojournMonitor


class DeclaredStation(StrictDocument):
    """A queueing station of a net. Its free servers are tokens in the place `idle`. The place
    `served` receives the served tokens and no others.
    """

    idle: str
    served: str


class Until(StrictDocument):
    """The condition that ends a replication: the monitor called `monitor` has made `count`
    observations.
    """

    monitor: str
    count: int


class RunLimits(TypedDict, total=False):
    """The limits of a simulation of a net: how many replications run, and how long. An omitted
    value has the engine's default.

    `end_time_s` and `warm_up_s` are simulated seconds. More than `max_instant_firings` firings at
    one instant are a livelock, and more than `max_tokens` tokens are growth without bound. Both
    raise RunFailed. `first_replication` is the number of the first replication. If it is the number
    of replications that have already run, the run adds further ones to them.
    """

    seed: int
    replications: int
    first_replication: int
    threads: int
    end_time_s: float
    max_firings: int
    max_instant_firings: int
    max_tokens: int
    warm_up_s: float
