"""Computes regression features of a configuration: logarithms of numbers, and dummy variables for
names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dfslab import discover
from dfslab.models.tree.prediction import Situation
from dfslab.spec.environment import is_of_group
from dfslab.spec.scenario import Point

# Quantities of a configuration that are not used as numeric features. `entries` and `first` follow
# from the size and the number of files. The other quantities are used as features with the values
# "yes" and "no".
FOLLOWS_FROM_OTHERS = ("entries", "first", "direct", "cold", "fsync", "scattered")
# Largest ratio of the number of columns to the number of configurations. The limit leaves residual
# degrees of freedom.
MOST_COLUMNS = Fraction(2, 3)


def describe(point: Point) -> dict[str, float | str]:
    """Returns the quantities of a configuration by name, in SI units. The mix of operations is one
    quantity whose value is a name.
    """
    situation = Situation(point.scenario)
    described: dict[str, float | str] = {
        key: value
        for key, value in situation.environment.items()
        if value > 0 and key not in FOLLOWS_FROM_OTHERS and not is_of_group(key)
    }
    described["operations"] = "+".join(sorted(situation.mix))
    for key in ("direct", "cold", "fsync", "scattered"):
        described[key] = "yes" if situation.environment[key] else "no"
    described["workload"] = discover.workload(point.scenario.workload.name).name
    return described


@dataclass(frozen=True)
class Columns:
    """The columns whose coefficients a training set can determine.

    - `numbers`: quantities with a numeric column. Its `scale` is "log" (base 2) or "linear".
    - `centre`: the mean that is subtracted from each numeric column.
    - `switches`: pairs (quantity, value), each with a dummy variable.
    - `products`: pairs (number, operations), whose column is the product of the two columns.
    - `dropped`: omitted quantities by reason: constant, collinear, or too few configurations to
      estimate them.
    """

    numbers: tuple[str, ...]
    switches: tuple[tuple[str, str], ...]
    products: tuple[tuple[str, str], ...]
    scale: str
    centre: dict[str, float]
    dropped: dict[str, tuple[str, ...]]

    @property
    def names(self) -> list[str]:
        """The name of each column, beginning with the constant."""
        switches = [f"{key}={value}" for key, value in self.switches]
        products = [f"{number} * operations={value}" for number, value in self.products]
        return ["constant", *self.numbers, *switches, *products]

    def matrix(self, points: Sequence[Point]) -> np.ndarray:
        """Returns the design matrix of shape (points, columns)."""
        return np.array([self._row(describe(point)) for point in points])

    def _number(self, described: dict[str, float | str], key: str) -> float:
        value = float(described.get(key, 1.0))
        shown = np.log2(value) if self.scale == "log" else value
        return float(shown) - self.centre[key]

    def _row(self, described: dict[str, float | str]) -> list[float]:
        numbers = [self._number(described, key) for key in self.numbers]
        switches = [float(described.get(key) == value) for key, value in self.switches]
        products = [
            self._number(described, key) * (described["operations"] == value)
            for key, value in self.products
        ]
        return [1.0, *numbers, *switches, *products]


def columns_for(points: Sequence[Point], scale: str = "log") -> Columns:
    """Returns the columns that the configurations can identify, in the order: the constant,
    numbers, dummy variables for names, products.
    """
    described = [describe(point) for point in points]
    numbers, switches, constant = [], [], []
    for key in sorted({key for one in described for key in one}):
        observed = {one.get(key, 1.0) for one in described}
        if len(observed) < 2:
            constant.append(key)
        elif any(isinstance(value, str) for value in observed):
            switches += [(key, str(value)) for value in sorted(map(str, observed))[1:]]
        else:
            numbers.append(key)
    # Numeric quantities with the most levels come first, because the last columns are dropped if
    # there are too few configurations.
    numbers.sort(key=lambda key: (-len({one.get(key, 1.0) for one in described}), key))
    transform = np.log2 if scale == "log" else np.asarray
    centre = {
        key: float(np.mean([transform(float(one.get(key, 1.0))) for one in described]))
        for key in numbers
    }
    operations = sorted({str(one["operations"]) for one in described})[1:]
    products = [(key, value) for key in numbers for value in operations]
    wanted = Columns(
        tuple(numbers),
        tuple(switches),
        tuple(products),
        scale,
        centre,
        {"constant": tuple(constant)},
    )
    return _independent(wanted, points)


def _independent(columns: Columns, points: Sequence[Point]) -> Columns:
    """Returns the columns that are not linear combinations of other columns. Their number is at
    most two thirds of the number of configurations. The omitted columns are listed in `dropped`."""
    matrix = columns.matrix(points)
    most = max(1, int(len({point.id for point in points}) * MOST_COLUMNS))
    kept: list[int] = []
    collinear: list[str] = []
    too_many: list[str] = []
    for index, name in enumerate(columns.names):
        trial = matrix[:, [*kept, index]]
        if np.linalg.matrix_rank(trial, tol=1e-8) <= len(kept):
            collinear.append(name)
        elif len(kept) >= most:
            too_many.append(name)
        else:
            kept.append(index)
    numbers, switches = len(columns.numbers), len(columns.switches)
    return Columns(
        tuple(n for i, n in enumerate(columns.numbers, 1) if i in kept),
        tuple(s for i, s in enumerate(columns.switches, 1 + numbers) if i in kept),
        tuple(p for i, p in enumerate(columns.products, 1 + numbers + switches) if i in kept),
        columns.scale,
        columns.centre,
        {
            **columns.dropped,
            "collinear": tuple(collinear),
            "too few configurations": tuple(too_many),
        },
    )
