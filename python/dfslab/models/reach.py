"""How far predictions may be off: conformal intervals that are wider in cells that err more.

Mondrian and normalised conformal prediction (Vovk 2003; Papadopoulos 2008) over errors on rows
whose layout was left out: each is divided by its cell's mean error, drawn to that of all, and the
quantile of these ratios, times a cell's own mean error, is how far a prediction there reaches.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

# A cell's mean error weighs as much as that of all when it has so many rows.
DRAWN_ROWS = 6.0


@dataclass(frozen=True)
class Reach:
    """Mean error of each cell and of all ("mean"), and the quantile of errors over them."""

    of_cell: dict[Hashable, float]
    mean: float
    quantile: float

    def at(self, cells: Sequence[Hashable]) -> np.ndarray:
        """How far predictions in these cells reach up and down; one never seen is like all."""
        return self.quantile * np.array([self.of_cell.get(cell, self.mean) for cell in cells])


def reach(errors: np.ndarray, cells: Sequence[Hashable], confidence: float) -> Reach:
    """The reach that covers a share of `confidence` of such rows; infinite where they are few."""
    sizes = np.abs(errors)
    mean = float(sizes.mean())
    own = {
        cell: (sum(mine := [e for e, c in zip(sizes, cells, strict=True) if c == cell])
               + DRAWN_ROWS * mean) / (len(mine) + DRAWN_ROWS)
        for cell in set(cells)
    }  # fmt: skip
    ratios = np.sort(sizes / np.maximum([own[cell] for cell in cells], 1e-12))
    place = math.ceil(confidence * (len(ratios) + 1))
    quantile = float(ratios[place - 1]) if place <= len(ratios) else math.inf
    return Reach({cell: float(one) for cell, one in own.items()}, mean, quantile)
