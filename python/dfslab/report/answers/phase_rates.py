"""The rates of a workload's phases, measured or predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dfslab.documents.answers import Limit
from dfslab.result import Metric, Result
from dfslab.spec.streams.workload import LAST_BARRIER
from dfslab.studies.runs.means import geometric_mean

# Largest number of phases that tables of rates list separately. A workload with more phases, such
# as the epochs of a training, is listed as a whole only.
MOST_PHASES = 12


@dataclass(frozen=True)
class PhaseRates:
    """One phase of a configuration: its operations per second, and its bytes per second (None if no
    file data is moved). Both rates are means over the repetitions. `limit`: text that
    names the resource that limits a predicted phase most, and the share of the phase's time that
    this resource takes; "" if nothing is predicted."""

    name: str
    rate: Metric
    throughput_bytes_per_s: float | None
    limit: str = ""


def phases_of(group: Sequence[Result]) -> list[PhaseRates]:
    """Returns the phases of one configuration, in their order. `group`: the results of one method
    for this configuration.

    A last phase in which clients only wait for each other is left out. The list is empty for a
    workload with one phase, or with more than MOST_PHASES.
    """
    rates: dict[str, list[Metric]] = {}
    moved: dict[str, list[float]] = {}
    for result in group:
        for name, rate, moved_bytes_per_s in _phases(result):
            rates.setdefault(name, []).append(rate)
            moved.setdefault(name, []).append(moved_bytes_per_s)
    if not 1 < len(rates) <= MOST_PHASES:
        return []
    limits = {one.name: limit_cell(one.limits[0]) for one in group[0].phases if one.limits}
    return [
        PhaseRates(name, _mean(each), _moved(moved[name]), limits.get(name, ""))
        for name, each in rates.items()
    ]


def _phases(result: Result) -> list[tuple[str, Metric, float]]:
    """Returns (name, rate, moved bytes per second) of each phase. Two kinds of phases are left out:
    measured phases with a rate of 0, and a last phase in which clients only wait for each other."""
    if result.load is not None:
        found = [
            (one.name, Metric(value=one.rate_per_s), one.throughput_bytes_per_s)
            for one in result.load.phases
            if one.rate_per_s > 0
        ]
    else:
        found = [
            (
                one.name,
                Metric(value=one.rate_per_s, low=one.rate_per_s_low, high=one.rate_per_s_high),
                one.throughput_bytes_per_s,
            )
            for one in result.phases
        ]
    return [one for one in found if one[0] != LAST_BARRIER]


def _mean(rates: Sequence[Metric]) -> Metric:
    """Returns the geometric mean of `rates`. If there is only one rate, it is returned with its own
    interval."""
    return rates[0] if len(rates) == 1 else geometric_mean([one.value for one in rates])


def _moved(bytes_per_s: Sequence[float]) -> float | None:
    """Returns the geometric mean of throughputs in bytes per second; None if a throughput is 0."""
    return geometric_mean(bytes_per_s).value if all(bytes_per_s) else None


def limit_cell(limit: Limit) -> str:
    """Returns a limit as the text of a narrow table cell, such as "machine.disk (88%,
    latency-bound)"."""
    shown = [one for one in (f"{limit.share:.0%}", limit.bound_word) if one]
    return f"{limit.name} ({', '.join(shown)})"
