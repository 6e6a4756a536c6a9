"""Ends the simulation of a long workload as soon as its rate is steady.

Instead of the whole workload, larger and larger parts of it are simulated: 1/256 of its bytes, then
1/128, and so on. In a steady state, the simulated time of a part is a linear function of the part's
size. The line through the last two parts therefore gives the time of the whole workload
(extrapolation to the limit, Richardson 1911). The line's intercept accounts for the start-up and
the end of the workload. Each new part gives a new extrapolated time. The simulation ends when this
time agrees with the previous extrapolated time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

# The first part is 2 ** -HALVINGS of the workload.
HALVINGS = 8
# The 90 % interval of an extrapolated time has the relative half-width HALF_WIDTH_OF_CHANGE *
# change + LEAST_HALF_WIDTH. The change is the relative difference between two extrapolated times:
# with and without the last part. With these values, the interval contains the exact time of 39 of
# the 42 configurations in Figures 10 to 15 of Nguyen & Apon 2012 (benches/pvfs_figures.py
# --precision).
HALF_WIDTH_OF_CHANGE = 2.0
LEAST_HALF_WIDTH = 0.005


@dataclass(frozen=True)
class SimulatedPart:
    """A simulated part of a workload.

    `share` is its fraction of the workload's bytes. `time_s` is the simulated time in seconds until
    the last client finishes. `utilisation` has the fraction of this time for which each station is
    busy. `firings` is the number of fired transitions.
    """

    share: float
    time_s: float
    utilisation: Mapping[str, float]
    firings: int


@dataclass(frozen=True)
class WorkloadEstimate:
    """The time of a whole workload in seconds and the utilisation of its stations. Both are
    extrapolated from simulated parts of the workload.

    `half_width` is the half-width of the 90 % interval of the time, divided by the time.
    `half_width` is 0 if the whole workload was simulated. `share` is the fraction of the workload
    in the largest simulated part. `firings` is the number of fired transitions in all parts.
    """

    time_s: float
    utilisation: Mapping[str, float]
    firings: int
    share: float
    half_width: float


def whole_of_parts(
    simulate: Callable[[float], SimulatedPart | None], precision: float
) -> WorkloadEstimate:
    """Simulates parts of a workload, each twice as large as the one before, until the time of the
    whole workload is known with a relative half-width of `precision`. If no extrapolation is
    precise enough, the whole workload is simulated.

    `simulate` simulates the part with a given share of the workload. It returns None if such a part
    does not exist, for instance because the part is smaller than one block. For the share 1, it
    must simulate the whole workload.
    """
    parts: list[SimulatedPart] = []
    times_s: list[float] = []
    for halvings in range(HALVINGS, 0, -1):
        part = simulate(0.5**halvings)
        if part is None:
            continue
        parts.append(part)
        if len(parts) < 2:
            continue
        times_s.append(_extrapolated(parts[-2:], [one.time_s for one in parts[-2:]]))
        if len(times_s) < 2 or min(times_s[-2:]) <= 0.0:
            continue
        change = abs(times_s[-1] / times_s[-2] - 1.0)
        half_width = HALF_WIDTH_OF_CHANGE * change + LEAST_HALF_WIDTH
        if half_width <= precision:
            return _steady(parts, times_s[-1], half_width)
    full = simulate(1.0)
    assert full is not None, "the whole workload can be simulated"
    firings = full.firings + sum(one.firings for one in parts)
    return WorkloadEstimate(full.time_s, full.utilisation, firings, full.share, 0.0)


def _steady(parts: Sequence[SimulatedPart], time_s: float, half_width: float) -> WorkloadEstimate:
    """Returns the time of the whole workload, which is `time_s`, and the utilisation, which is
    extrapolated from the last two parts.
    """
    last = parts[-2:]
    busy_s = {
        name: _extrapolated(last, [one.utilisation[name] * one.time_s for one in last])
        for name in last[1].utilisation
    }
    utilisation = {name: min(1.0, max(0.0, busy / time_s)) for name, busy in busy_s.items()}
    firings = sum(one.firings for one in parts)
    return WorkloadEstimate(time_s, utilisation, firings, last[1].share, half_width)


def _extrapolated(parts: Sequence[SimulatedPart], values: Sequence[float]) -> float:
    """Returns the extrapolated value of the whole workload. The extrapolated value is on the line
    through the values of the two `parts`, as a function of a part's share of the workload."""
    (small, large), (first, second) = parts, values
    return second + (1.0 - large.share) * (second - first) / (large.share - small.share)
