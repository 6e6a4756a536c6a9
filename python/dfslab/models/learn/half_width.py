"""Computes half-widths of conformal prediction intervals. The half-widths are scaled by the mean
error of each cell (combination of workload and cache state).

The method is Mondrian and normalised conformal prediction (Vovk 2003; Papadopoulos 2008). The
method uses residuals of layouts that were held out of the fit. Each absolute residual is divided by
its cell's mean error, which is shrunk towards the overall mean. The half-width in a cell is a
quantile of these ratios, multiplied by the cell's mean error. Rows of one layout are correlated.
Each draw therefore takes one random row per layout, and the quantile is averaged over the draws
(Dunn et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

# Weight, in rows, of the overall mean error towards which the mean error of a cell is shrunk. In a
# cell with this number of rows, both means have equal weight.
DRAWN_ROWS = 6.0
DRAWS = 200


@dataclass(frozen=True)
class HalfWidths:
    """The values from which the half-width of each cell follows.

    The values are the mean absolute error of each cell, the mean absolute error of all rows
    (`mean`), and a quantile of ratios. The error of a cell is shrunk towards `mean`. A ratio is
    (error of a row) / (mean error of its cell).
    """

    of_cell: dict[Hashable, float]
    mean: float
    quantile: float

    def at(self, cells: Sequence[Hashable]) -> np.ndarray:
        """Returns the half-width of the interval in each cell. For an unknown cell, the overall
        mean error is used.
        """
        return self.quantile * np.array([self.of_cell.get(cell, self.mean) for cell in cells])


def half_widths(
    errors: np.ndarray, cells: Sequence[Hashable], groups: np.ndarray, confidence: float, seed: int
) -> HalfWidths:
    """Returns the values from which half-widths follow. With the probability `confidence`, an
    interval shall contain the rate of a row whose group has no training rows.

    `errors`, `cells` and `groups` have the residual, the cell and the group of each row. With fewer
    than nine groups, the largest ratio is used, because a 90 % quantile cannot be determined.
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
    return HalfWidths({cell: float(one) for cell, one in own.items()}, mean, float(np.mean(drawn)))
