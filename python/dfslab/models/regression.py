"""Ordinary least squares over measured runs (Kumar 2018, section 3; corrected R² after the errata).

The default form is log-linear: the logarithm of the rate over logarithms of the quantities, so that
no rate is ever negative. `scale="linear"` is the paper's own form, which may go negative and says
so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import statsmodels.api as sm

from dfslab.method import CONFIDENCE, RunFailed
from dfslab.models.features import Columns, columns_for
from dfslab.models.prediction import Situation
from dfslab.result import Metric, Result, provenance
from dfslab.spec.scenario import Point

NAMES = ("regression",)


def make(name: str) -> Regression:
    """The method of that name."""
    return Regression()


@dataclass(frozen=True)
class Fit:
    """A fitted model: statsmodels' results, the columns, the paper's figures.

    R² = 1 - SSE / TSS, SSE being the sum of squared *errors* (the paper's list swaps the labels).
    """

    columns: Columns
    results: Any
    r_squared: float
    adjusted_r_squared: float
    coefficients: dict[str, tuple[float, float]]


class Regression:
    """OLS of the rate; predicts the median rate with a 90 % prediction interval."""

    name = "regression"

    def __init__(self, scale: str = "log") -> None:
        assert scale in ("log", "linear")
        self.scale = scale
        self.fitted: Fit | None = None

    def fit(self, results: Sequence[Result]) -> Regression:
        """Fit on measured results. RunFailed when there are fewer than three configurations."""
        measured = [r for r in results if r.method == "measure" and r.complete and r.value() > 0]
        if len({result.point_id for result in measured}) < 3:
            raise RunFailed("regression: needs at least three measured configurations")
        points = [result.point for result in measured]
        columns = columns_for(points, self.scale)
        rates = np.array([result.value() for result in measured])
        target = np.log(rates) if self.scale == "log" else rates
        matrix = columns.matrix(points)
        # Replicates share what their configuration adds, so errors are not independent in them.
        groups = np.unique([result.point_id for result in measured], return_inverse=True)[1]
        model = sm.OLS(*_means(target, matrix, groups)).fit()
        self.fitted = Fit(
            columns,
            model,
            float(model.rsquared),
            float(model.rsquared_adj) if model.df_resid > 0 else float("nan"),
            {
                name: (float(value), float(error))
                for name, value, error in zip(columns.names, model.params, model.bse, strict=True)
            },
        )
        return self

    def run(self, point: Point) -> Result:
        """Predict one configuration."""
        if self.fitted is None:
            raise RunFailed("regression: needs measured results to learn from (--from RUN)")
        row = self.fitted.columns.matrix([point])
        frame = self.fitted.results.get_prediction(row).summary_frame(alpha=1 - CONFIDENCE)
        middle, low, high = (
            float(frame[key].iloc[0]) for key in ("mean", "obs_ci_lower", "obs_ci_upper")
        )
        notes = []
        if self.scale == "log":
            # exp of the mean logarithm is the median rate.
            middle, low, high = (float(np.exp(min(v, 700.0))) for v in (middle, low, high))
        elif low < 0:
            notes.append("the linear form allows a negative rate here")
        return self._result(point, Metric(value=middle, low=low, high=high), notes)

    def _result(self, point: Point, rate: Metric, notes: list[str]) -> Result:
        assert self.fitted is not None
        return Result(
            method=self.name,
            point_id=point.id,
            point=point,
            metrics=metrics_of(point, rate),
            notes=notes,
            detail={
                "r_squared": self.fitted.r_squared,
                "adjusted_r_squared": self.fitted.adjusted_r_squared,
                "coefficients": {
                    name: {"value": value, "standard_error": error}
                    for name, (value, error) in self.fitted.coefficients.items()
                },
            },
            provenance=provenance(point.scenario.run.seed),
        )


def _means(
    target: np.ndarray, matrix: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One row a configuration: the mean over its replicates."""
    count = groups.max() + 1
    rows = [np.flatnonzero(groups == group) for group in range(count)]
    return (np.array([target[r].mean() for r in rows]), np.array([matrix[r[0]] for r in rows]))


def metrics_of(point: Point, rate: Metric) -> dict[str, Metric]:
    """Rate, throughput, and for a single operation the latency by Little's law."""
    situation = Situation(point.scenario)
    size = situation.environment["file_size"]
    metrics = {"rate_per_s": rate}
    if size:
        metrics["throughput_bytes_per_s"] = _scaled(rate, size)
    workload = point.scenario.workload
    if len(situation.mix) == 1 and rate.low and rate.low > 0 and rate.high:
        latency = Metric(
            value=workload.clients / rate.value - workload.think_time,
            low=workload.clients / rate.high - workload.think_time,
            high=workload.clients / rate.low - workload.think_time,
        )
        metrics[f"latency_s_mean.{next(iter(situation.mix))}"] = latency
    return metrics


def _scaled(metric: Metric, factor: float) -> Metric:
    return Metric(
        value=metric.value * factor,
        low=None if metric.low is None else metric.low * factor,
        high=None if metric.high is None else metric.high * factor,
    )
