"""Means over the repetitions of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dfslab import quantiles
from dfslab.method import CONFIDENCE
from dfslab.result import Metric


def geometric_mean(values: Sequence[float]) -> Metric:
    """Returns the geometric mean with its 90 % interval by Student's t. A single value has no
    interval."""
    logs = np.log(np.maximum(values, 1e-300))
    mean = float(np.exp(logs.mean()))
    if len(logs) < 2:
        return Metric(value=mean)
    error = logs.std(ddof=1) / np.sqrt(len(logs))
    factor = float(np.exp(quantiles.student(0.5 + CONFIDENCE / 2, len(logs) - 1) * error))
    return Metric(value=mean, low=mean / factor, high=mean * factor)
