"""Simulates a net and reports the means of its places, its transitions and the monitors of its file
with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Unpack

from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_report import ObservedValues, PlaceMarking
from dfslab.documents.net_run import (
    CountMonitor,
    FileMonitor,
    FileMonitors,
    FiringObservation,
    LevelChange,
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
    ReachedPrecision,
    SimulatedPlace,
    SimulatedTransition,
)
from dfslab.method import RunFailed
from dfslab.nets.engine import estimate, run
from dfslab.nets.inscription import DRAW
from dfslab.spec.input_error import InputError

# Prefixes of the names of the monitors that observe a place, observe a transition, or come from the
# net's file.
PLACE, TRANSITION, FILE = "place ", "transition ", "file "
# Prefix of the name of the monitor that observes all tokens of a place, waiting ones included.
ALL = "all tokens of "
# The name of the monitor that combines all breakpoints of the file.
BREAKPOINTS = "breakpoints"
NO_MONITORS = FileMonitors()


@dataclass(frozen=True)
class Precision:
    """A precision that a simulation must reach: the relative half-width of the 90 % intervals.

    `names`: the places, transitions and monitors whose intervals count; if there are none, all
    count. `most_replications`: the simulation ends with this number of replications, also if they
    are not enough.
    """

    relative_width: float
    most_replications: int = 1000
    names: tuple[str, ...] = ()

    def check(self, definition: NetDefinition, monitors: FileMonitors) -> None:
        """Raises InputError if a number is out of its range, or if a name is none of the net."""
        if not 0 < self.relative_width < 1:
            raise InputError("precision", self.relative_width, "must be between 0 and 1")
        if self.most_replications < 2:
            raise InputError(
                "most replications", self.most_replications, "an interval needs at least two"
            )
        places = [one.name for one in definition.places]
        transitions = [one.name for one in definition.transitions]
        known = [*places, *transitions, *monitors.measured]
        for name in self.names:
            if name not in known:
                raise InputError("precision of", name, f"known: {', '.join(known)}")


def simulate(
    definition: NetDefinition,
    monitors: FileMonitors = NO_MONITORS,
    precision: Precision | None = None,
    **limits: Unpack[RunLimits],
) -> NetSimulation:
    """Simulates a net and returns the means over its replications: tokens of each place, firings of
    each transition, and what the monitors of the net's file observe.

    A replication also ends at the first breakpoint in `monitors`. With `precision`, the number of
    replications begins at `replications` and doubles until the means are as precise as requested,
    or until there are `precision.most_replications`. Raises InputError if the net or a limit is
    wrong, RunFailed if a replication cannot continue or if every replication ended before its
    warm-up.
    """
    if precision is not None:
        precision.check(definition, monitors)
    watched, until = _watched(definition, monitors)
    reports: list[NetReport] = []
    first = limits.get("first_replication", 0)
    wanted = limits.get("replications", 1)
    if precision is not None:
        wanted = min(max(2, wanted), precision.most_replications)
    while True:
        # The replications that are already done are not run again: the series continues.
        limits["first_replication"] = first + len(reports)
        limits["replications"] = wanted - len(reports)
        reports += run(definition, watched, until=until, **limits)
        found = _means(definition, monitors, reports)
        if precision is None:
            return found
        reached = _reached(found, precision)
        if reached.is_reached or wanted >= precision.most_replications:
            return found.model_copy(update={"precision": reached})
        wanted = min(2 * wanted, precision.most_replications)


def _watched(
    definition: NetDefinition, monitors: FileMonitors
) -> tuple[dict[str, MonitorDefinition], Until | None]:
    """Returns all monitors of a simulation by name, and the condition that ends a replication at
    the first breakpoint."""
    places = [one.name for one in definition.places]
    transitions = [one.name for one in definition.transitions]
    delayed = {name: _all_tokens(definition, name) for name in _delayed(definition)}
    watched: dict[str, MonitorDefinition] = {
        **{PLACE + name: MarkingMonitor(place=name) for name in places},
        **{ALL + name: one for name, one in delayed.items() if one is not None},
        **{TRANSITION + name: CountMonitor(transition=name) for name in transitions},
        **{FILE + name: one.monitor for name, one in monitors.measured.items()},
    }
    if not monitors.breakpoints:
        return watched, None
    watched[BREAKPOINTS] = _combined(list(monitors.breakpoints.values()))
    return watched, Until(monitor=BREAKPOINTS, count=1)


def _delayed(definition: NetDefinition) -> set[str]:
    """Returns the places whose tokens may wait, because an arc or a transition delays them."""
    return {
        arc.place
        for one in definition.transitions
        for arc in one.out
        if arc.delay is not None or one.delay is not None
    }


def _all_tokens(definition: NetDefinition, place: str) -> ValueMonitor | None:
    """Returns a monitor of the number of all tokens of a place, available or waiting. None if a
    firing changes the number by an amount that a monitor cannot compute: a reset arc, or a number
    that is drawn."""
    level, changes = "all_tokens", list[LevelChange]()
    draws = any(DRAW.search(one.body) for one in definition.functions.values())
    for one in definition.transitions:
        put = [arc.count for arc in one.out if arc.place == place]
        counts = ["1" if count is None else str(count) for count in put]
        taken = sum(arc.place == place for arc in one.in_)
        by = " + ".join([*(f"({count})" for count in counts), str(-taken)])
        calls = draws and any(f"{name}(" in by for name in definition.functions)
        if any(arc.place == place for arc in one.reset) or DRAW.search(by) or calls:
            return None
        if counts or taken:
            changes.append(LevelChange(transition=one.name, by=by))
    (first,) = [len(one.initial) for one in definition.places if one.name == place]
    return ValueMonitor(
        levels=[ValueLevel(name=level, initial=first, changes=changes)],
        observations=[FiringObservation(transition=one.transition, value=level) for one in changes],
        initial=first,
    )


def _means(
    definition: NetDefinition, monitors: FileMonitors, every: Sequence[NetReport]
) -> NetSimulation:
    """Returns the means over the replications whose warm-up ended. Raises RunFailed if there is no
    such replication."""
    reports = [one for one in every if one.warmed_up]
    times_s: dict[str, list[float]] = {}
    for one in every:
        reason = _end(one, list(monitors.breakpoints))
        times_s.setdefault(reason, []).append(one.end_time_ns / 1e9)
    if not reports:
        ends = ", ".join(f"{reason} at {max(times):g} s" for reason, times in times_s.items())
        raise RunFailed(
            f"net {definition.name}: nothing was observed, because all {len(every)} runs ended "
            f"before the warm-up did (latest end: {ends}); request a shorter warm-up"
        )
    places = [one.name for one in definition.places]
    transitions = [one.name for one in definition.transitions]
    delayed = _delayed(definition)
    markings = {name: [one.markings[PLACE + name] for one in reports] for name in places}
    counts = {name: [one.counts[TRANSITION + name] for one in reports] for name in transitions}
    return NetSimulation(
        net=definition.name,
        replications=len(every),
        end_time_s=_mean([one.end_time_ns / 1e9 for one in every]),
        ends={reason: len(times) for reason, times in times_s.items()},
        ended_at_s={reason: (min(times), max(times)) for reason, times in times_s.items()},
        unobserved=len(every) - len(reports),
        places={
            name: SimulatedPlace(
                tokens=_mean_of_known([one.mean for one in found]),
                waiting=_waiting(name, reports) if name in delayed else _none_wait(found),
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


def _waiting(place: str, reports: Sequence[NetReport]) -> MeanValue | None:
    """Returns the mean number of tokens of a place that wait until they are available. None if the
    number of all tokens was not observed, or if no time passed."""
    waiting = []
    for one in reports:
        every, available = one.values.get(ALL + place), one.markings[PLACE + place].mean
        if every is None or every.time_mean is None or available is None:
            return None
        waiting.append(max(0.0, every.time_mean - available))
    return _mean(waiting)


def _none_wait(found: Sequence[PlaceMarking]) -> MeanValue | None:
    """Returns the mean number of waiting tokens of a place without delayed tokens: 0, or None if no
    time passed."""
    return _mean_of_known([None if one.mean is None else 0.0 for one in found])


def _reached(found: NetSimulation, precision: Precision) -> ReachedPrecision:
    """Returns how wide the widest interval of the compared means is, relative to its mean. The
    width of a requested name whose mean is unknown is infinite."""
    known: dict[str, float] = {}
    for name, mean in _compared(found):
        # A place and a monitor may have the same name, and a place has two means.
        known[name] = max(known.get(name, 0.0), _relative(mean))
    widths = [(known.get(name, math.inf), name) for name in precision.names or known]
    relative, widest = max(widths, key=lambda one: one[0], default=(math.inf, "nothing observed"))
    return ReachedPrecision(
        requested=precision.relative_width,
        is_reached=relative <= precision.relative_width,
        widest=widest,
        relative=relative if math.isfinite(relative) else None,
        most_replications=precision.most_replications,
    )


def _compared(found: NetSimulation) -> Iterator[tuple[str, MeanValue]]:
    """Yields the means whose precision is compared, with their names: tokens of places, firings of
    transitions, and means of monitors. Means that are unknown are left out."""
    for name, place in found.places.items():
        yield from ((name, mean) for mean in (place.tokens, place.waiting) if mean is not None)
    for name, transition in found.transitions.items():
        yield name, transition.rate_per_s or transition.firings
    for name, one in found.monitors.items():
        if one.mean is not None or one.count.mean:
            yield name, one.mean or one.count


def _relative(value: MeanValue) -> float:
    """Returns the half-width of an interval divided by the mean. It is infinite if the half-width
    is unknown."""
    if value.half_width is None:
        return math.inf
    if value.half_width == 0:
        return 0.0
    return value.half_width / abs(value.mean) if value.mean else math.inf


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
