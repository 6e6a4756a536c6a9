"""The engine's report on one replication of a Petri net, and the means of a simulation over its
replications. Monitors are accessed by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dfslab.documents.document import Document

# A value that a log monitor records. Values of the type list are not recorded.
Logged = bool | int | float | str | None


@dataclass(frozen=True)
class Sojourn:
    """What a sojourn monitor measured: number, mean, standard deviation and quantiles of the times
    from a firing of one transition to a firing of another, in seconds (0 if there are none).

    `unmatched` is the number of ends without a start, `unfinished` the number of starts without an
    end.
    """

    count: int
    mean_s: float
    sd_s: float
    p50_s: float
    p99_s: float
    max_s: float
    unmatched: int
    unfinished: int


@dataclass(frozen=True)
class PlaceMarking:
    """What a marking monitor observed: the mean number of tokens in a place over time (None if no
    time passed), the largest number, and the number at the end.
    """

    mean: float | None
    most: int
    last: int


class LogRow(NamedTuple):
    """One firing that a log monitor recorded: its time in nanoseconds, and the values of the
    monitor's expressions.
    """

    time_ns: int
    values: tuple[Logged, ...]


@dataclass(frozen=True)
class Log:
    """What a log monitor recorded: firings of a transition in order. `count` includes firings whose
    rows were dropped.
    """

    count: int
    rows: Sequence[LogRow]


@dataclass(frozen=True)
class FiringCount:
    """What a count monitor counted: the firings of a transition, and their rate per second (None if
    no time passed).
    """

    count: int
    rate_per_s: float | None


@dataclass(frozen=True)
class ObservedValues:
    """The numbers that a value monitor observed: their number, sum, mean and standard deviation,
    and the least, the largest and the last value. A figure is None if there are too few
    observations for it.

    `time_mean` is the mean over the `known_s` seconds for which the monitor had a value.
    """

    count: int
    sum: float
    mean: float | None
    sd: float | None
    least: float | None
    most: float | None
    last: float | None
    time_mean: float | None
    known_s: float


Monitor = Sojourn | PlaceMarking | Log | FiringCount | ObservedValues


@dataclass(frozen=True)
class StationReport:
    """A queueing station of a net, for which the engine checked operational laws of queueing
    theory, such as the utilisation law. The tokens in the place `idle` are its free servers. A
    token whose service ends enters the place `served`.

    `service_s_mean` is the mean service time in seconds, `utilisation` the share of the time for
    which the servers were busy. Both are None if nothing was served, or no time passed.
    """

    idle: str
    served: str
    servers: int
    services: int
    service_s_mean: float | None
    utilisation: float | None


@dataclass(frozen=True)
class NetReport:
    """The report on one replication of a net: its end, its firings, and what its monitors measured,
    by the names of the monitors.

    `reason` is why the replication ended: "end_time", "max_firings", "dead" (nothing can fire any
    more), "until" (the requested condition holds) or "stopped". `left` maps the fullest places of a
    dead net to their numbers of tokens. `stations` is None if no operational laws of queueing
    stations were checked.
    """

    replication: int
    end_time_ns: int
    firings: int
    reason: str
    warmed_up: bool
    left: Mapping[str, int]
    stations: Sequence[StationReport] | None
    sojourns: Mapping[str, Sojourn]
    markings: Mapping[str, PlaceMarking]
    logs: Mapping[str, Log]
    counts: Mapping[str, FiringCount]
    values: Mapping[str, ObservedValues]


class MeanValue(Document):
    """The mean of a quantity over the replications of a simulation, and the half-width of its 90 %
    confidence interval (None for a single replication)."""

    mean: float
    half_width: float | None


class SimulatedPlace(Document):
    """The number of tokens of a place in a simulation: its mean over time, and the largest number
    in any replication. The mean is None if no simulated time passed."""

    tokens: MeanValue | None
    most: int


class SimulatedTransition(Document):
    """How often a transition fired in a simulation: per replication, and per second of simulated
    time (None if no simulated time passed)."""

    firings: MeanValue
    rate_per_s: MeanValue | None


class MonitoredValue(Document):
    """What a monitor of the net's file measured in a simulation: the number of observations per
    replication, their sum and mean, and the least and largest value in any replication.

    `kind` is the kind of monitor in the words of CPN Tools. If `is_timed` is true, the mean is a
    mean over time, and there is no sum. Figures are None if nothing was observed.
    """

    kind: str
    is_timed: bool
    count: MeanValue
    sum: MeanValue | None
    mean: MeanValue | None
    least: float | None
    most: float | None


class NetSimulation(Document):
    """The means of a simulation of a Petri net over its replications, for each place, each
    transition and each monitor of the net's file by name.

    `end_time_s` is the simulated time at the end of a replication. `ends` maps each reason for an
    end, such as "end_time", "dead" (nothing can fire any more) or "breakpoint NAME", to the number
    of replications that ended for it. `refused_monitors` has the reason for each monitor of the
    file that did not run.
    """

    net: str
    replications: int
    end_time_s: MeanValue
    ends: dict[str, int]
    places: dict[str, SimulatedPlace]
    transitions: dict[str, SimulatedTransition]
    monitors: dict[str, MonitoredValue] = {}
    refused_monitors: dict[str, str] = {}


def net_report(document: Mapping[str, Any], names: Sequence[str]) -> NetReport:
    """Parses the engine's report. `names` are the names of the requested monitors, in order.

    Raises ValueError when the number of monitors differs, or two monitors have the same name.
    """
    if len(set(names)) != len(names):
        raise ValueError("two monitors have one name")
    found = {name: _monitor(one) for name, one in zip(names, document["monitors"], strict=True)}
    stations = document.get("stations")
    return NetReport(
        replication=document["replication"],
        end_time_ns=document["end_time_ns"],
        firings=document["firings"],
        reason=document["reason"],
        warmed_up=document["warmed_up"],
        left=document.get("left", {}),
        stations=None if stations is None else [StationReport(**one) for one in stations],
        sojourns={name: one for name, one in found.items() if isinstance(one, Sojourn)},
        markings={name: one for name, one in found.items() if isinstance(one, PlaceMarking)},
        logs={name: one for name, one in found.items() if isinstance(one, Log)},
        counts={name: one for name, one in found.items() if isinstance(one, FiringCount)},
        values={name: one for name, one in found.items() if isinstance(one, ObservedValues)},
    )


def _monitor(one: Mapping[str, Any]) -> Monitor:
    match one["kind"]:
        case "sojourn":
            times = {key: one[key] for key in ("count", "mean_s", "sd_s", "p50_s", "p99_s")}
            return Sojourn(
                **times, max_s=one["max_s"], unmatched=one["unmatched"], unfinished=one["open"]
            )
        case "marking":
            return PlaceMarking(one["mean"], one["max"], one["last"])
        case "log":
            return Log(one["count"], [LogRow(row[0], tuple(row[1:])) for row in one["rows"]])
        case "count":
            return FiringCount(one["count"], one["rate_per_s"])
        case "value":
            same = ("count", "sum", "mean", "sd", "last", "time_mean", "known_s")
            return ObservedValues(
                **{key: one[key] for key in same}, least=one["min"], most=one["max"]
            )
    raise ValueError(f"no monitor of kind {one['kind']!r}")
