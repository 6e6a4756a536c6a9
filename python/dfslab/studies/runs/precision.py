"""Computes how precisely the mean of a metric is known from the runs of one configuration."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from dfslab import quantiles

# The probability with which the interval contains the mean.
PRECISION_CONFIDENCE = 0.95


def half_width(values: Sequence[float]) -> float:
    """Returns the half-width of the 95 % interval of the mean, as a fraction of the mean. The
    interval is computed by Student's t from the logarithms of the values, because runs differ by
    factors.

    Returns infinity for fewer than two values, or if a value is 0 or less.
    """
    if len(values) < 2 or min(values) <= 0:
        return math.inf
    spread = statistics.stdev(math.log(one) for one in values)
    quantile = float(quantiles.student((1 + PRECISION_CONFIDENCE) / 2, len(values) - 1))
    return math.expm1(quantile * spread / math.sqrt(len(values)))
