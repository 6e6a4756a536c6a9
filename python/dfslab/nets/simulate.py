"""Simulates a net and reports the means of its places, its transitions and the monitors of its file
with confidence intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Unpack

from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_report import ObservedValues
from dfslab.documents.net_run import (
    CountMonitor,
    FileMonitor,
    FileMonitors,
    FiringObservation,
    MarkingMonitor,
    MonitorDefinition,
    RunLimits,
    Until,
    ValueLevel,
    ValueMonitor,
)
from dfslab.documents.nets.named_net_report import NetReport
from dfslab.documents.nets.net_simulation import (
    MeanValue,
    MonitoredValue,
    NetSimulation,
    SimulatedPlace,
    SimulatedTransition,
)
from dfslab.nets.engine import estimate, run

# Prefixes of the names of the monitors that observe a place, observe a transition, or come from the
# net's file.
PLACE, TRANSITION, FILE = "place ", "transition ", "file "
# The name of the monitor that combines all breakpoints of the file.
BREAKPOINTS = "breakpoints"
NO_MONITORS = FileMonitors()


def simulate(
    definition: NetDefinition, monitors: FileMonitors = NO_MONITORS, **limits: Unpack[RunLimits]
) -> NetSimulation:
    """Simulates a net and returns the means over its replications: tokens of each place, firings of
    each transition, and what the monitors of the net's file observe.

    A replication also ends at the first breakpoint in `monitors`. Raises InputError if the net or a
    limit is wrong, RunFailed if a replication cannot continue.
    """
    places = [one.name for one in definition.places]
    transitions = [one.name for one in definition.transitions]
    watched: dict[str, MonitorDefinition] = {
        **{PLACE + name: MarkingMonitor(place=name) for name in places},
        **{TRANSITION + name: CountMonitor(transition=name) for name in transitions},
        **{FILE + name: one.monitor for name, one in monitors.measured.items()},
    }
    until = None
    if monitors.breakpoints:
        watched[BREAKPOINTS] = _combined(list(monitors.breakpoints.values()))
        until = Until(monitor=BREAKPOINTS, count=1)
    reports = run(definition, watched, until=until, **limits)
    markings = {name: [one.markings[PLACE + name] for one in reports] for name in places}
    counts = {name: [one.counts[TRANSITION + name] for one in reports] for name in transitions}
    return NetSimulation(
        net=definition.name,
        replications=len(reports),
        end_time_s=_mean([one.end_time_ns / 1e9 for one in reports]),
        ends=dict(Counter(_end(one, list(monitors.breakpoints)) for one in reports)),
        places={
            name: SimulatedPlace(
                tokens=_mean_of_known([one.mean for one in found]),
                most=max(one.most for one in found),
            )
            for name, found in markings.items()
        },
        transitions={
            name: SimulatedTransition(
                firings=_mean([float(one.count) for one in found]),
                rate_per_s=_mean_of_known([one.rate_per_s for one in found]),
            )
            for name, found in counts.items()
        },
        monitors=_monitored(monitors.measured, reports),
        refused_monitors=monitors.refused,
    )


def _combined(breakpoints: Sequence[ValueMonitor]) -> ValueMonitor:
    """Returns one monitor that combines all breakpoints. The returned monitor observes each firing
    that a breakpoint observes. The value that it records is the index of the breakpoint."""
    levels: list[ValueLevel] = []
    observations: list[FiringObservation] = []
    for number, one in enumerate(breakpoints):
        levels += one.levels
        observations += [
            each.model_copy(update={"value": str(number)}) for each in one.observations
        ]
    return ValueMonitor(levels=levels, observations=observations)


def _end(report: NetReport, breakpoints: Sequence[str]) -> str:
    """Returns why a replication ended. If it ended at a breakpoint, the text includes the
    breakpoint's name."""
    if report.reason != "until":
        return report.reason
    number = report.values[BREAKPOINTS].last
    assert number is not None, "a run ends at a breakpoint that was observed"
    return f"breakpoint {breakpoints[int(number)]}"


def _monitored(
    measured: Mapping[str, FileMonitor], reports: Sequence[NetReport]
) -> dict[str, MonitoredValue]:
    """Returns the mean over replications of each value that a monitor of the file observed."""
    return {
        name: _monitored_value(one, [report.values[FILE + name] for report in reports])
        for name, one in measured.items()
    }


def _monitored_value(one: FileMonitor, found: Sequence[ObservedValues]) -> MonitoredValue:
    means = [each.time_mean if one.is_timed else each.mean for each in found]
    return MonitoredValue(
        kind=one.kind,
        is_timed=one.is_timed,
        count=_mean([float(each.count) for each in found]),
        sum=None if one.is_timed else _mean_of_known([each.sum for each in found]),
        mean=_mean_of_known(means),
        least=min((each.least for each in found if each.least is not None), default=None),
        most=max((each.most for each in found if each.most is not None), default=None),
    )


def _mean(values: Sequence[float]) -> MeanValue:
    if len(values) < 2:
        return MeanValue(mean=fmean(values), half_width=None)
    found = estimate(values)
    return MeanValue(mean=found.mean, half_width=found.half_width)


def _mean_of_known(values: Sequence[float | None]) -> MeanValue | None:
    known = [value for value in values if value is not None]
    return _mean(known) if known else None
