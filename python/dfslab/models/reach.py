"""How far predictions may be off: conformal intervals that are wider in cells that err more.

Mondrian and normalised conformal prediction (Vovk 2003; Papadopoulos 2008) over errors on rows
whose layout was left out: each is divided by its cell's mean error, drawn to that of all, and the
quantile of these ratios, times a cell's own mean error, is how far a prediction there reaches. Rows
of one layout resemble each other, so the quantile is that of one row drawn from every layout, on
average over draws (Dunn et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

# A cell's mean error weighs as much as that of all when it has so many rows.
DRAWN_ROWS = 6.0
DRAWS = 200


@dataclass(frozen=True)
class Reach:
    """Mean error of each cell and of all ("mean"), and the quantile of errors over them."""

    of_cell: dict[Hashable, float]
    mean: float
    quantile: float

    def at(self, cells: Sequence[Hashable]) -> np.ndarray:
        """How far predictions in these cells reach up and down; one never seen is like all."""
        return self.quantile * np.array([self.of_cell.get(cell, self.mean) for cell in cells])


def reach(
    errors: np.ndarray, cells: Sequence[Hashable], groups: np.ndarray, confidence: float, seed: int
) -> Reach:
    """The reach that covers a share of `confidence` of rows of a group never seen.

    Fewer than nine groups cannot tell nine tenths: then it is the largest of theirs.
    """
    sizes = np.abs(errors)
    mean = float(sizes.mean())
    own = {
        cell: (
            sum(mine := [e for e, c in zip(sizes, cells, strict=True) if c == cell])
            + DRAWN_ROWS * mean
        )
        / (len(mine) + DRAWN_ROWS)
        for cell in set(cells)
    }
    ratios = sizes / np.maximum([own[cell] for cell in cells], 1e-12)
    random = np.random.default_rng(seed)
    each = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    place = min(len(each), math.ceil(confidence * (len(each) + 1)))
    drawn = [
        np.sort([ratios[random.choice(rows)] for rows in each])[place - 1] for _ in range(DRAWS)
    ]
    return Reach({cell: float(one) for cell, one in own.items()}, mean, float(np.mean(drawn)))
