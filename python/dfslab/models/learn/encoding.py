"""Encodes configurations as columns of numbers for regressions.

A numeric factor has one column. A factor whose levels are names has one column for each level
except the first. The factors are those that the scenario's experimental design declares. Without a
design, each key that varies is a factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dfslab import discover
from dfslab.arrays import Floats, Integers
from dfslab.models.tree.prediction import Situation
from dfslab.spec.design import Factor, LevelValue, number, shapes
from dfslab.spec.scenario import Point

SIGNS = {"+": 1, "-": -1, "": 0}


@dataclass(frozen=True)
class Encoding:
    """The columns of an encoding.

    `scale` has the scale of each numeric factor: "linear", or "log" (base 2) if all levels are
    positive. The properties `names`, `owner` (index of the column's factor) and `signs` (known
    direction of the effect: 1 or -1, and 0 if unknown) have one entry for each column. Levels that
    are names are dummy-coded (0 or 1); the first level is the base.
    """

    factors: tuple[Factor, ...]
    scale: str = "log"

    @cached_property
    def _columns(self) -> list[tuple[str, int, int, str | None]]:
        found: list[tuple[str, int, int, str | None]] = []
        for index, factor in enumerate(self.factors):
            if factor.numbers is not None:
                found.append((factor.name, index, SIGNS[factor.effect], None))
                continue
            for level in factor.levels[1:]:
                name = str(number(level))
                found.append((f"{factor.name}={name}", index, 0, name))
        return found

    @property
    def names(self) -> list[str]:
        """The name of each column."""
        return [name for name, *_ in self._columns]

    @property
    def owner(self) -> Integers:
        """For each column, the index of the factor that it encodes."""
        return np.array([index for _, index, *_ in self._columns], dtype=int)

    @property
    def signs(self) -> Integers:
        """For each column, the known direction of its effect on the rate: 1, -1, or 0 if
        unknown.
        """
        return np.array([sign for _, _, sign, _ in self._columns], dtype=int)

    def is_log(self, index: int) -> bool:
        """Returns whether the column of numeric factor `index` contains logarithms of the factor's
        values."""
        numbers = self.factors[index].numbers
        return self.scale == "log" and numbers is not None and min(numbers) > 0

    def matrix(self, rows: Sequence[Mapping[str, LevelValue]]) -> Floats:
        """Returns the design matrix of shape (rows, columns). Each of `rows` maps dotted keys to
        the configuration's values.
        """
        return np.array([self._row(labels) for labels in rows]).reshape(len(rows), -1)

    def _row(self, labels: Mapping[str, LevelValue]) -> list[float]:
        row = []
        values = [number(labels[factor.keys[0]]) for factor in self.factors]
        for _, index, _, name in self._columns:
            value = values[index]
            if name is not None:
                row.append(float(str(value) == name))
            else:
                row.append(float(np.log2(value)) if self.is_log(index) else float(value))
        return row


def factors_of(points: Sequence[Point]) -> tuple[Factor, ...]:
    """Returns the factors that vary between configurations.

    If the experimental design declares factors, the declared ones are returned. Otherwise each key
    that varies is a factor with its observed levels. Keys whose values always change together are
    one factor.
    """
    declared = points[0].scenario.design.factor if points else []
    labels = [point.labels for point in points]
    if declared:
        return tuple(factor for factor in declared if _varies(factor.keys[0], labels))
    keys = [key for key in (labels[0] if labels else {}) if _varies(key, labels)]
    groups: dict[tuple[int, ...], list[str]] = {}
    for key in keys:
        observed = [str(one.get(key)) for one in labels]
        order = {value: place for place, value in enumerate(dict.fromkeys(observed))}
        groups.setdefault(tuple(order[value] for value in observed), []).append(key)
    return tuple(_factor(together, labels) for together in groups.values())


def _varies(key: str, labels: Sequence[Mapping[str, LevelValue]]) -> bool:
    return len({str(one.get(key)) for one in labels}) > 1


def _factor(keys: Sequence[str], labels: Sequence[Mapping[str, LevelValue]]) -> Factor:
    levels = {tuple(one[key] for key in keys): None for one in labels}
    shown = sorted((list(level) for level in levels), key=lambda level: str(number(level[0])))
    name = "".join(c if c.isalnum() else "_" for c in keys[0].rsplit(".", 1)[-1].lower())
    return Factor(name=name.lstrip("_0123456789") or "factor", keys=list(keys), levels=shown)


def layout_key(point: Point) -> str:
    """Returns a text that identifies a configuration's layout. It contains the numbers of nodes,
    the roles, and the file system's keys except those that only configure daemons.
    """
    parameter_keys = {
        p.key
        for p in discover.file_system(point.scenario.file_system.name).parameters
        if p.daemons_only
    }
    return str(sorted((k, str(v)) for k, v in point.labels.items() if shapes(k, parameter_keys)))


def size_bytes(situation: Situation) -> float:
    """Returns the size of a file in bytes, or 1 for an empty file. Learning methods predict the
    product (operations per second) * (this size).

    The product equals the throughput only if every operation moves a whole file. The product is
    larger than the throughput if some operations move no data, such as deletions.
    """
    return situation.environment["file_size"] or 1.0


def line_rate(situation: Situation) -> float:
    """Returns the upper bound in operations per second that network adapters and disks allow.

    The bound is infinite if clients may serve the workload from their caches. Clients may do so
    unless the workload has direct access, cold caches, fsync or forced writes. The bound is also
    infinite if the operations take no hardware time.
    """
    environment = situation.environment
    if not any(environment[key] for key in ("direct", "cold", "fsync", "forced")):
        return np.inf
    free = dict.fromkeys(situation.constants, 0.0)
    costs = situation.costs(free)
    latency = sum(share * costs[name].latency_s for name, share in situation.mix.items())
    return situation.predict(free).bounds_per_s[1] if latency > 0 else np.inf
