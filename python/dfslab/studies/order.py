"""Ranks configurations under the same workload by rate, and compares the predicted ranking with
the measured one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pydantic import BaseModel

from dfslab.studies.compare import ComparedPoint

FEWEST, MOST = 2, 24


class RankedPoint(BaseModel):
    """One configuration of a ranking. Its rates are relative to the configuration with the lowest
    measured rate.

    `measured`: the measured rate, divided by the lowest measured rate. `predicted`: for each
    method, the predicted rate, divided by the rate that the method predicts for the configuration
    with the lowest measured rate.
    """

    labels: dict[str, str]
    measured: float
    predicted: dict[str, float]


class WorkloadOrder(BaseModel):
    """The configurations that ran one workload, the slowest first.

    `pairs`: for each method, the fraction of pairs of configurations that the method orders
    correctly. A pair is ordered correctly if the order by predicted rate is the order by
    measured rate. `load`: the workload as text.
    """

    load: str
    places: list[RankedPoint]
    pairs: dict[str, float]


def orders(rows: Sequence[ComparedPoint]) -> list[WorkloadOrder]:
    """Returns one ranking for each held-out workload. A ranking has the configurations (deployments
    or file systems) that ran the workload. Workloads that ran on fewer than FEWEST or more than
    MOST configurations are left out.

    A method is omitted from a ranking if it lacks a prediction for one of the configurations, or
    if its prediction for the slowest configuration is not above 0.
    """
    groups: dict[str, list[ComparedPoint]] = {}
    for row in rows:
        if row.held_out and row.measured.value > 0:
            load = {k: v for k, v in row.labels.items() if k.startswith("workload.")}
            text = ", ".join(f"{key.removeprefix('workload.')} {load[key]}" for key in sorted(load))
            groups.setdefault(text, []).append(row)
    return [_order(load, own) for load, own in groups.items() if FEWEST <= len(own) <= MOST]


def _order(load: str, rows: Sequence[ComparedPoint]) -> WorkloadOrder:
    ordered = sorted(rows, key=lambda row: row.measured.value)
    slowest = ordered[0]
    methods = [
        name
        for name in slowest.predictions
        if all(name in row.predictions for row in ordered) and slowest.predictions[name].value > 0
    ]
    places = [
        RankedPoint(
            labels={k: str(v) for k, v in row.labels.items() if not k.startswith("workload.")},
            measured=row.measured.value / slowest.measured.value,
            predicted={
                name: row.predictions[name].value / slowest.predictions[name].value
                for name in methods
            },
        )
        for row in ordered
    ]
    return WorkloadOrder(
        load=load, places=places, pairs={name: _agreeing(places, name) for name in methods}
    )


def _agreeing(places: Sequence[RankedPoint], method: str) -> float:
    """Returns the fraction of all pairs of configurations that `method` orders correctly: the order
    by predicted rate is the order by measured rate.

    A pair with equal predictions counts as correct only if the measured rates are equal, too.
    """
    pairs = list(itertools.combinations(places, 2))
    right = [
        (b.measured - a.measured) * (b.predicted[method] - a.predicted[method]) > 0
        or (a.measured == b.measured and a.predicted[method] == b.predicted[method])
        for a, b in pairs
    ]
    return sum(right) / len(pairs)
