"""Simulates a net and reports the means of its places and transitions with confidence intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Unpack

from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_run import CountMonitor, MarkingMonitor, MonitorDefinition, RunLimits
from dfslab.documents.net_state import MeanValue, NetSimulation, SimulatedPlace, SimulatedTransition
from dfslab.nets.engine import estimate, run

# The monitors of places and of transitions have these prefixes before the names.
PLACE, TRANSITION = "place ", "transition "


def simulate(definition: NetDefinition, **limits: Unpack[RunLimits]) -> NetSimulation:
    """Simulates a net and returns the means over its replications: tokens of each place, firings of
    each transition.

    Raises InputError if the net or a limit is wrong, RunFailed if a replication cannot continue.
    """
    places = [one.name for one in definition.places]
    transitions = [one.name for one in definition.transitions]
    monitors: dict[str, MonitorDefinition] = {
        **{PLACE + name: MarkingMonitor(place=name) for name in places},
        **{TRANSITION + name: CountMonitor(transition=name) for name in transitions},
    }
    reports = run(definition, monitors, **limits)
    markings = {name: [one.markings[PLACE + name] for one in reports] for name in places}
    counts = {name: [one.counts[TRANSITION + name] for one in reports] for name in transitions}
    return NetSimulation(
        net=definition.name,
        replications=len(reports),
        end_time_s=_mean([one.end_time_ns / 1e9 for one in reports]),
        ends=dict(Counter(one.reason for one in reports)),
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
    )


def _mean(values: Sequence[float]) -> MeanValue:
    if len(values) < 2:
        return MeanValue(mean=fmean(values), half_width=None)
    found = estimate(values)
    return MeanValue(mean=found.mean, half_width=found.half_width)


def _mean_of_known(values: Sequence[float | None]) -> MeanValue | None:
    known = [value for value in values if value is not None]
    return _mean(known) if known else None
