"""The engine's report on a run of a net; generated from core/net/report_schema.json."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from dfslab.documents.document import Document


class FiringCount(Document):
    """What a count monitor counted: the firings of a transition."""

    kind: Literal["count"]
    count: int
    # Firings per second of simulated time; null if no time passed.
    rate_per_s: float | None = None
    # The simulated time for which the monitor observed.
    window_s: float


# A value that a log monitor records. Null stands for a real that is not a number.
Logged = TypeAliasType("Logged", "bool | int | float | None | str")


# One firing that a log monitor recorded: its time in nanoseconds, and the values of the monitor's
# expressions.
LogRow = TypeAliasType("LogRow", "tuple[int, list[Logged]]")


class Log(Document):
    """What a log monitor recorded: firings of a transition, in order."""

    kind: Literal["log"]
    # The number of firings, including those whose rows were dropped.
    count: int
    # The number of firings beyond the limit of the monitor.
    dropped: int
    rows: list[LogRow]


class ObservedValues(Document):
    """Statistics of the numbers that a value monitor observed. A statistic is null if it is not a
    finite number, or if there are too few observations to compute it.
    """

    kind: Literal["value"]
    count: int
    known_s: float
    last: float | None = None
    least: float | None = None
    mean: float | None = None
    most: float | None = None
    sd: float | None = None
    sum: float | None = None
    # The mean over the `known_s` seconds for which the monitor had a value.
    time_mean: float | None = None


class PlaceMarking(Document):
    """What a marking monitor observed: the number of tokens in a place."""

    kind: Literal["marking"]
    # The number of tokens at the end.
    last: int
    # The mean number of tokens over time; null if no time passed.
    mean: float | None = None
    most: int
    # The simulated time for which the monitor observed.
    window_s: float


class Sojourn(Document):
    """What a sojourn monitor measured. A sojourn is the time from a firing of one transition to a
    firing of another. All times are 0 if no sojourn was completed.
    """

    kind: Literal["sojourn"]
    # Number of values.
    count: int
    # Largest value, seconds.
    max_s: float
    # Mean, seconds.
    mean_s: float
    # Smallest value, seconds.
    min_s: float
    # Median, seconds.
    p50_s: float
    # 90th percentile, seconds.
    p90_s: float
    # 99.9th percentile, seconds.
    p999_s: float
    # 99th percentile, seconds.
    p99_s: float
    # Standard deviation, seconds.
    sd_s: float
    # Sum of the values, seconds.
    sum_s: float
    # The number of sojourns that started but did not end.
    unfinished: int
    # The number of firings that would end a sojourn but found none that had started.
    unmatched: int


# What a monitor measured, by the kind of the monitor.
MonitorReport = Annotated[
    FiringCount | PlaceMarking | Log | Sojourn | ObservedValues, Field(discriminator="kind")
]


# The reason for which a replication ended.
Reason = Literal[
    # The simulated end time was reached.
    "end_time",
    # The largest number of firings was reached.
    "max_firings",
    # No transition is enabled and no token is in transit, so nothing can fire any more.
    "dead",
    # A monitor made the number of observations that the options request.
    "until",
    # The caller set the flag that stops the run.
    "stopped",
]


class StationReport(Document):
    """A queueing station of a net, for which the engine checked operational laws of queueing
    theory, such as the utilisation law.
    """

    # The place whose tokens are the free servers.
    idle: str
    # The place that a token enters when its service ends.
    served: str
    servers: int
    # The mean service time; null if nothing was served.
    service_s_mean: float | None = None
    # The number of services.
    services: int
    # The share of the time for which the servers were busy; null if no time passed.
    utilisation: float | None = None


class ReplicationReport(Document):
    """The report on one replication of a net: its end, its firings and what its monitors
    measured."""

    # The simulated time at the end.
    end_time_ns: int
    firings: int
    # If the replication ended because nothing could fire any more: the places with the most
    # tokens at that time, and the number of tokens of each. Otherwise empty.
    left: dict[str, int] = Field(default_factory=dict)
    # The reports of the monitors, in the order in which the monitors were requested.
    monitors: list[MonitorReport]
    reason: Reason
    # The number of the replication.
    replication: int
    # The queueing stations of the net. Left out if no operational laws of stations were checked.
    stations: list[StationReport] | None = None
    # Whether the warm-up ended, so that monitors observed.
    warmed_up: bool


class RunReport(Document):
    """The report on all replications of a net."""

    net: str
    # The reports on the replications, in the order of the numbers of the replications.
    replications: list[ReplicationReport]
    seed: int
