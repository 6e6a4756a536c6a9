"""The cost of one execution of an operation: its latency, and its demand in seconds at each
station.

Costs are numbers. If several sets of calibrated constants are evaluated together, they are arrays
of shape (sets of constants,).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from dfslab.models.tree.placement import Station
from dfslab.spec.steps.step_path import StepPath

Demands = dict[Station, float]


# Costs are typed as numbers, but they are arrays when several sets of constants are evaluated
# together.
def largest(values: Iterable[float]) -> float:
    """Returns the largest value, or 0 if no value is above 0. Arrays of shape (sets of constants,)
    are compared element by element.
    """
    found = 0.0
    for value in values:
        if isinstance(value, np.ndarray) or isinstance(found, np.ndarray):
            found = np.maximum(found, value)
        elif value > found:
            found = value
    return found


def share_of(part: float, whole: float) -> float:
    """Returns `part` / `whole`, or 0 where `whole` is 0. Arrays are divided element by element."""
    if isinstance(part, np.ndarray) or isinstance(whole, np.ndarray):
        over, under = np.broadcast_arrays(part, whole)
        return cast(float, np.divide(over, under, out=np.zeros(under.shape), where=under > 0))
    return part / whole if whole else 0.0


def smallest(values: Sequence[float]) -> float:
    """Returns the smallest value; for arrays of shape (sets of constants,), the smallest in each
    position."""
    if any(isinstance(value, np.ndarray) for value in values):
        return cast(float, np.minimum.reduce(np.broadcast_arrays(*values)))
    return min(values)


def is_any(value: float) -> bool:
    """Returns whether a value, or any value of an array, is not 0."""
    return bool(value.any()) if isinstance(value, np.ndarray) else bool(value)


@dataclass
class Cost:
    """The cost of one execution of an operation tree or of a node. Demands map stations to seconds.

    - `demands`: foreground demand at each station, multiplied by the probability that the execution
      uses the station.
    - `background`: asynchronous demand, which adds load but no latency.
    - `limited`: demand at token buckets (disks or adapters with burst credit). This demand adds no
      latency while the credit lasts.
    - `burst`: the part of `demands` that belongs to one unit of a pipeline or to one repetition. It
      determines how long concurrent copies of the work queue. Here, a client's station counts as
      one copy that is always used.
    - `whole`: like `burst`, but not multiplied by probabilities.
    - `visits`: number of acquisitions of each lock.
    - `busy_s`: how long the execution occupies its pipeline stage.
    - `steps`: the costs of the outermost named steps, and of the named steps directly inside them.
    """

    latency_s: float = 0.0
    busy_s: float = 0.0
    demands: Demands = field(default_factory=dict)
    background: Demands = field(default_factory=dict)
    burst: Demands = field(default_factory=dict)
    whole: Demands = field(default_factory=dict)
    visits: Demands = field(default_factory=dict)
    steps: dict[StepPath, Cost] = field(default_factory=dict)
    limited: Demands = field(default_factory=dict)

    def times(self, count: float) -> Cost:
        """Returns the cost of `count` executions in sequence."""
        return Cost(
            self.latency_s * count,
            self.busy_s * count,
            {station: d * count for station, d in self.demands.items()},
            {station: d * count for station, d in self.background.items()},
            {station: d * count for station, d in self.burst.items()},
            {station: d * count for station, d in self.whole.items()},
            {station: v * count for station, v in self.visits.items()},
            {name: step.times(count) for name, step in self.steps.items()},
            {station: d * count for station, d in self.limited.items()},
        )

    def absorb(self, other: Cost) -> None:
        """Adds the demands, visits and steps of `other` to this cost. The latency of `other` is not
        added.
        """
        for mine, theirs in (
            (self.demands, other.demands),
            (self.background, other.background),
            (self.burst, other.burst),
            (self.whole, other.whole),
            (self.visits, other.visits),
            (self.limited, other.limited),
        ):
            if not mine:
                mine.update(theirs)
                continue
            for station, demand in theirs.items():
                mine[station] = mine.get(station, 0.0) + demand
        for name, step in other.steps.items():
            self.steps[name] = self.steps[name].then(step) if name in self.steps else step

    def then(self, other: Cost) -> Cost:
        """Returns the cost of this execution followed by `other`."""
        both = Cost(self.latency_s + other.latency_s, self.busy_s + other.busy_s)
        both.absorb(self)
        both.absorb(other)
        return both


def station_bound_s(demands: Demands) -> float:
    """Returns the time in seconds that the busiest station needs for its part of the demands. This
    time is a lower bound for the time of the work that causes the demands."""
    return largest(d / (s.copies * s.servers) for s, d in demands.items())


def longest_wait_s(together: Demands, own: Cost, branches: Sequence[Cost]) -> float:
    """Returns the longest wait, in seconds, of the branch with the cost `own` for the concurrent
    `branches`. The longest wait is the maximum over the stations. The result is at least 0.

    The wait at a station is A - d - l:
    - A: the time that the station needs for all branches: their demand there (`together`), divided
      by the number of servers of all copies of the station.
    - d: the demand of this branch there.
    - l: the time from the arrival of the first branch at the station to the arrival of this branch.
      The station already serves other branches during l.
    """

    def lead_s(branch: Cost, station: Station) -> float:
        return branch.latency_s - branch.whole[station]

    waits = [0.0]
    for station, demand in own.whole.items():
        first_s = smallest([lead_s(one, station) for one in branches if station in one.whole])
        all_s = together[station] / (station.copies * station.servers)
        waits.append(all_s - demand - largest((lead_s(own, station) - first_s,)))
    return largest(waits)
