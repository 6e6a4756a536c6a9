"""Fits a log-linear regression of each operation's rate on the factors of a sweep, and reports
its slopes."""

from __future__ import annotations

import numpy as np

from dfslab import quantiles
from dfslab.arrays import Floats, Integers
from dfslab.method import CONFIDENCE
from dfslab.models.learn.encoding import Encoding, factors_of
from dfslab.models.learn.estimators import independent
from dfslab.models.learnt import TrainingRows
from dfslab.models.tree.prediction import Situation
from dfslab.result import Metric
from dfslab.spec.scenario import Point
from dfslab.studies.designs.lessons import Slope


def operation_of(point: Point) -> str:
    """The display name of the operation of a configuration's workload."""
    return point.scenario.workload.name.replace("_", " ")


def encoded(rows: TrainingRows, own: Integers, scale: str) -> tuple[Encoding, Floats]:
    """Encodes the factors that vary among the rows `own`. Returns (encoding, matrix with a row for
    each of `own`).

    If `scale` is "linear", columns with values above 10^4, such as rates and sizes in bytes, are in
    units of 10^6.
    """
    points = [rows.points[i] for i in own]
    encoding = Encoding(factors_of(points), scale)
    matrix = encoding.matrix([point.labels for point in points])
    if scale == "linear":
        matrix = np.where(np.abs(matrix).max(axis=0) > 1e4, matrix / 1e6, matrix)
    return encoding, matrix


def slopes(rows: TrainingRows) -> list[Slope]:
    """Returns the slopes of every factor for each operation with enough runs. Other operations are
    omitted.

    Page-cache hits are a hundred times as fast as other reads, so the fraction of hits is a
    separate column. The slopes are fitted with Huber's loss.
    """
    found = []
    operations = np.array([operation_of(point) for point in rows.points])
    kept = np.array([Situation(point.scenario).environment["kept"] for point in rows.points])
    for name in sorted(set(operations)):
        own = np.flatnonzero(operations == name)
        encoding, matrix = encoded(rows, own, "log")
        if len(own) < 2 * matrix.shape[1]:
            continue
        if "read" in name and np.ptp(kept[own]):
            matrix = np.column_stack([matrix, kept[own]])
        values, errors = robust(matrix, np.log2(rows.rates[own]))
        half = float(quantiles.student(0.5 + CONFIDENCE / 2, len(own) - matrix.shape[1] - 1))
        for at, factor in enumerate(encoding.names):
            slope, error = float(values[at]), float(errors[at])
            if np.isfinite(error):
                metric = Metric(value=slope, low=slope - half * error, high=slope + half * error)
                doublings = float(np.ptp(matrix[:, at]))
                found.append(
                    Slope(operation=name, factor=factor, slope=metric, doublings=doublings)
                )
    return found


def robust(matrix: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Returns (slopes, standard errors) of a regression with Huber's loss.

    A column that is a linear combination of other columns has slope 0 and an infinite standard
    error.
    """
    kept = independent(matrix)
    import statsmodels.api as sm

    found = sm.RLM(target, sm.add_constant(matrix[:, kept], has_constant="add")).fit()
    slopes, errors = np.zeros(matrix.shape[1]), np.full(matrix.shape[1], np.inf)
    slopes[kept], errors[kept] = found.params[1:], found.bse[1:]
    return slopes, errors
