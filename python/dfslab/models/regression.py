"""Predicts rates by ordinary least squares over measured runs (Kumar 2018, section 3, with R²
corrected after the errata).

The default form is log-linear: the log rate is a linear function of logarithms of the quantities.
Predicted rates are therefore positive. With `scale="linear"`, the form is that of Kumar 2018, and
predictions may be negative, which a note reports. A scenario selects this form by the method
`regression-linear`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfslab.arrays import Floats, Integers
from dfslab.documents import metrics as metric
from dfslab.documents.answers import Coefficient, Importance, RegressionFit
from dfslab.method import CONFIDENCE, RunFailed
from dfslab.models.learn.features import Columns, columns_for, describe
from dfslab.models.tree.prediction import situation_of
from dfslab.result import Metric, Result, provenance
from dfslab.spec.input_error import NothingLearnt
from dfslab.spec.scenario import Point

if TYPE_CHECKING:
    from statsmodels.regression.linear_model import RegressionResults

NAMES = ("regression", "regression-linear")
# Largest allowed logarithm of an extrapolated rate: exp(300) is still a finite JSON number.
LARGEST_LOG = 300.0
FEWEST_CONFIGURATIONS = 3


def make(name: str) -> Regression:
    """Returns the method called `name`: "regression" or "regression-linear"."""
    assert name in NAMES
    return Regression("linear" if name == "regression-linear" else "log")


@dataclass(frozen=True)
class FittedRegression:
    """A fitted regression: the results of statsmodels, the columns, and the figures that Kumar 2018
    reports.

    R² = 1 - SSE / TSS, where SSE is the sum of squared *errors* and TSS the total sum of squares.
    (The list in Kumar 2018 swaps the two labels.) It is 0 if all rates are equal. `first_order` has
    the first-order sensitivity index of each quantity: the share of the target's variance that the
    quantity explains alone.
    """

    columns: Columns
    results: RegressionResults
    r_squared: float
    adjusted_r_squared: float
    coefficients: dict[str, tuple[float, float]]
    first_order: dict[str, float]

    def document(self) -> RegressionFit:
        """Returns the fit as part of a Result."""
        total = sum(self.first_order.values())
        return RegressionFit(
            value_is="median" if self.columns.scale == "log" else "mean",
            r_squared=self.r_squared,
            adjusted_r_squared=self.adjusted_r_squared,
            coefficients={
                name: Coefficient(value=value, standard_error=error)
                for name, (value, error) in self.coefficients.items()
            },
            # Each quantity has two values: its first-order index, and its share of the sum of these
            # indices. The share alone would not show how much of the variance is due to
            # interactions.
            importance={
                name: Importance(first_order=index, share=index / total if total else 0.0)
                for name, index in self.first_order.items()
            },
            dropped={reason: list(names) for reason, names in self.columns.dropped.items()},
        )

    def notes(self) -> list[str]:
        """Returns notes on columns that the data could not identify."""
        missing = self.columns.dropped["too few configurations"]
        return [f"regression: too few configurations for {', '.join(missing)}"] if missing else []


class Regression:
    """Ordinary least squares of the rate, with a 90 % prediction interval. The predicted value is
    the median rate, or the mean rate in the linear form."""

    def __init__(self, scale: str = "log") -> None:
        assert scale in ("log", "linear")
        self.scale = scale
        self.name = "regression" if scale == "log" else "regression-linear"
        self.fitted: FittedRegression | None = None

    def fit(self, results: Sequence[Result]) -> Regression:
        """Fits the regression to measured results. Raises RunFailed when there are fewer than three
        configurations."""
        measured = [r for r in results if r.method == "measure" and r.complete and r.value() > 0]
        if len({result.point_id for result in measured}) < FEWEST_CONFIGURATIONS:
            raise RunFailed(
                f"{self.name}: needs at least three measured configurations besides "
                "those that are held out"
            )
        points = [result.point for result in measured]
        columns = columns_for(points, self.scale)
        rates = np.array([result.value() for result in measured])
        target = np.log(rates) if self.scale == "log" else rates
        # Repetitions of one configuration have correlated errors, so they are averaged.
        groups = np.unique([result.point_id for result in measured], return_inverse=True)[1]
        target, matrix, points = _means(target, columns.matrix(points), points, groups)
        self.fitted = _fit(columns, target, matrix, points)
        return self

    def run(self, point: Point) -> Result:
        """Predicts one configuration. Raises NothingLearnt if the regression was not fitted."""
        if self.fitted is None:
            raise NothingLearnt(f"{self.name}: needs measured results to learn from (--from RUN)")
        row = self.fitted.columns.matrix([point])
        frame = self.fitted.results.get_prediction(row).summary_frame(alpha=1 - CONFIDENCE)
        middle, low, high = (
            float(frame[key].iloc[0]) for key in ("mean", "obs_ci_lower", "obs_ci_upper")
        )
        notes = self.fitted.notes()
        if self.scale == "log":
            # The exponential of the mean logarithm is the median rate.
            middle, low, high = (float(np.exp(min(v, LARGEST_LOG))) for v in (middle, low, high))
        elif low < 0:
            notes.append("regression: the linear form allows a negative rate here")
        return Result(
            method=self.name,
            point_id=point.id,
            point=point,
            metrics=metrics_of(point, Metric(value=middle, low=low, high=high)),
            notes=notes,
            regression=self.fitted.document(),
            provenance=provenance(point.scenario.run.seed),
        )


def _means(
    target: Floats, matrix: Floats, points: Sequence[Point], groups: Integers
) -> tuple[Floats, Floats, list[Point]]:
    """Averages the repetitions of each configuration. Returns (target, matrix, points) with one
    entry for each configuration.

    The target is the mean over the repetitions. The matrix row and the point do not differ between
    repetitions.
    """
    rows = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]
    return (
        np.array([target[r].mean() for r in rows]),
        np.array([matrix[r[0]] for r in rows]),
        [points[r[0]] for r in rows],
    )


def _fit(
    columns: Columns, target: Floats, matrix: Floats, points: Sequence[Point]
) -> FittedRegression:
    # Importing from `statsmodels.api` would also load time series and plots, which takes half a
    # second of processor time.
    from statsmodels.regression.linear_model import OLS

    model = OLS(target, matrix).fit()
    # Differences by rounding between equal rates do not count as variance.
    varies = float(np.ptp(target)) > 1e-9 * float(np.abs(target).max())
    described = [describe(point) for point in points]
    # Only quantities with a column have an index. A collinear quantity has no column; an index of a
    # collinear quantity would count the same variance a second time.
    quantities = {
        key: [one.get(key, 1.0) for one in described]
        for key in [*columns.numbers, *dict.fromkeys(key for key, _ in columns.switches)]
    }
    return FittedRegression(
        columns,
        model,
        float(model.rsquared) if varies else 0.0,
        float(model.rsquared_adj) if varies else 0.0,
        {
            name: (float(value), float(error))
            for name, value, error in zip(columns.names, model.params, model.bse, strict=True)
        },
        first_order_indices(quantities, target) if varies else {},
    )


def first_order_indices(
    quantities: Mapping[str, Sequence[float | str]], target: Floats
) -> dict[str, float]:
    """Returns the first-order sensitivity index S_i = V(E(Y | x_i)) / V(Y) of each quantity x_i on
    the target Y, computed from the given rows (Kumar 2018, equation (6)).

    V is the variance and E the mean. In the paper, the second equals sign is misprinted as a minus,
    which would make every index 0. On a full grid, 1 minus the sum of the indices is the share of
    the variance that is due to interactions and noise. On other designs, the quantities are
    correlated, so one part of the variance may be counted in several indices.
    """
    found = {}
    for name, values in quantities.items():
        groups = np.unique(np.array([str(value) for value in values]), return_inverse=True)[1]
        counts = np.bincount(groups)
        means = np.bincount(groups, weights=target) / counts
        spread = float(counts @ (means - target.mean()) ** 2) / len(target)
        found[name] = spread / float(target.var())
    return found


def metrics_of(point: Point, rate: Metric) -> dict[str, Metric]:
    """Returns the metrics that follow from a rate: rate and throughput. If the workload has a
    single operation, also returns the latency by Little's law."""
    situation = situation_of(point.scenario)
    metrics = {metric.RATE: rate}
    if moved_bytes := situation.whole.moved_bytes:
        metrics[metric.THROUGHPUT] = _scaled(rate, moved_bytes)
    workload = point.scenario.workload
    if len(situation.mix) == 1 and rate.low and rate.low > 0 and rate.high:
        latency = Metric(
            value=max(0.0, workload.clients / rate.value - workload.think_time),
            low=max(0.0, workload.clients / rate.high - workload.think_time),
            high=max(0.0, workload.clients / rate.low - workload.think_time),
        )
        key = metric.key(metric.LATENCY, metric.MEAN, next(iter(situation.mix)))
        metrics[key] = latency
    return metrics


def _scaled(metric: Metric, factor: float) -> Metric:
    return Metric(
        value=metric.value * factor,
        low=None if metric.low is None else metric.low * factor,
        high=None if metric.high is None else metric.high * factor,
    )
