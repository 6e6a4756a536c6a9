"""One load on several configurations: who is faster and by how much, predicted beside measured."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pydantic import BaseModel

from dfslab.studies.compare import Row

FEWEST, MOST = 2, 24


class Place(BaseModel):
    """One configuration: rates as multiples of the slowest measured one's, by method."""

    labels: dict[str, str]
    measured: float
    predicted: dict[str, float]


class Order(BaseModel):
    """One load's configurations, the slowest first.

    `pairs` is the share of pairs of configurations that a method puts in the measured order.
    """

    load: str
    places: list[Place]
    pairs: dict[str, float]


def orders(rows: Sequence[Row]) -> list[Order]:
    """Held-out loads that ran on several deployments or file systems; a method that predicts less
    than all of a load's configurations is left out."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.held_out and row.measured.value > 0:
            load = {k: v for k, v in row.labels.items() if k.startswith("workload.")}
            text = ", ".join(f"{key.removeprefix('workload.')} {load[key]}" for key in sorted(load))
            groups.setdefault(text, []).append(row)
    return [_order(load, own) for load, own in groups.items() if FEWEST <= len(own) <= MOST]


def _order(load: str, rows: Sequence[Row]) -> Order:
    ordered = sorted(rows, key=lambda row: row.measured.value)
    slowest = ordered[0]
    methods = [
        name
        for name in slowest.predictions
        if all(name in row.predictions for row in ordered) and slowest.predictions[name].value > 0
    ]
    places = [
        Place(
            labels={k: str(v) for k, v in row.labels.items() if not k.startswith("workload.")},
            measured=row.measured.value / slowest.measured.value,
            predicted={
                name: row.predictions[name].value / slowest.predictions[name].value
                for name in methods
            },
        )
        for row in ordered
    ]
    return Order(
        load=load, places=places, pairs={name: _agreeing(places, name) for name in methods}
    )


def _agreeing(places: Sequence[Place], method: str) -> float:
    """Share of pairs in the measured order; a tie that was not measured is no order."""
    pairs = list(itertools.combinations(places, 2))
    right = [
        (b.measured - a.measured) * (b.predicted[method] - a.predicted[method]) > 0
        or (a.measured == b.measured and a.predicted[method] == b.predicted[method])
        for a, b in pairs
    ]
    return sum(right) / len(pairs)
