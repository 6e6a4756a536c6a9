"""How precisely runs of one configuration tell a metric of theirs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from dfslab import quantiles

CONFIDENCE = 0.95


def half_width(values: Sequence[float]) -> float:
    """Half the width of the mean's interval as a share of it: Student's, in logarithms, since runs
    differ by factors. Without end below two runs, and where one did nothing."""
    if len(values) < 2 or min(values) <= 0:
        return math.inf
    spread = statistics.stdev(math.log(one) for one in values)
    quantile = float(quantiles.student((1 + CONFIDENCE) / 2, len(values) - 1))
    return math.expm1(quantile * spread / math.sqrt(len(values)))
