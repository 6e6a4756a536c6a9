"""The methods that learn from many runs. Each method fits a single model to all hardware, layouts
and workloads.

The input of a method is the columns of an Encoding. The output is bytes per second, or operations
per second where files are empty. The 90 % intervals are cross-conformal (CV+, Barber et al. 2021),
and each fold holds out whole layouts. The intervals of the grey-box model are wider for cells with
larger errors (models/learn/half_width.py).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from mapie.conformity_scores import AbsoluteConformityScore
from mapie.regression import CrossConformalRegressor
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from threadpoolctl import threadpool_limits

from dfslab import quantiles
from dfslab.arrays import Floats
from dfslab.method import CONFIDENCE, RunFailed
from dfslab.models.fit.demand import Calibration, calibrate, uncalibrated
from dfslab.models.learn.encoding import Encoding, factors_of, layout_key, line_rate, size_bytes
from dfslab.models.learn.estimators import Gaussian, GreyBox, PaperLinear, boosting
from dfslab.models.learn.half_width import HalfWidths, half_widths
from dfslab.models.learn.split_linear import SplitLinear, layout_columns, operation_columns
from dfslab.models.regression import metrics_of
from dfslab.models.tree.prediction import Situation
from dfslab.result import Metric, Result, provenance
from dfslab.spec.input_error import NothingLearnt
from dfslab.spec.scenario import Point

NAMES = ("greybox", "boosting", "gaussian", "linear", "linear-split")
# The two linear methods of Kumar 2018, which predict MB/s: one model for all operations, and one
# model for each operation.
LINEAR = ("linear", "linear-split")
CONFORMAL_FOLDS = 5
# Smallest number of configurations from which a method learns. A conformal interval with confidence
# 1 - a needs more than 1 / a residuals.
FEWEST = round(1 / (1 - CONFIDENCE)) + 1
FEWEST_GROUPS = 4
MOST_CALIBRATED = 20
# The value that replaces the natural logarithm of an infinite line rate: exp(700) is nearly the
# largest double.
NO_LINE_RATE = 700.0
# The keys whose combinations of values are the cells of the grey-box model: workload and cache
# state.
CELLS = ("workload.name", "workload.cache")


def make(name: str) -> LearntModel:
    """Returns the untrained method called `name`."""
    assert name in NAMES
    return LearntModel(name)


@dataclass(frozen=True)
class TrainingRows:
    """Training data, with one row for each configuration. The rate of a row is the geometric mean
    over the configuration's repetitions.

    Arrays have shape (rows,). `rates` are in bytes per second. `layouts` has the index of each
    row's layout, and `groups` the index of each row's testbed (deployment and layout). Several
    testbeds may have the same layout.
    """

    points: list[Point]
    rates: np.ndarray
    groups: np.ndarray
    layouts: np.ndarray


def rows_of(results: Sequence[Result]) -> TrainingRows:
    """Returns the training rows of measured results. Raises RunFailed when there are too few
    configurations."""
    found: dict[str, list[Result]] = {}
    for result in results:
        if result.method == "measure" and result.complete and result.value() > 0:
            found.setdefault(result.point_id, []).append(result)
    if len(found) < FEWEST:
        raise RunFailed(f"needs at least {FEWEST} measured configurations")
    points = [group[0].point for group in found.values()]
    sizes = np.array([size_bytes(Situation(point.scenario)) for point in points])
    rates = [np.exp(np.mean([np.log(r.value()) for r in group])) for group in found.values()]
    testbeds, layouts = (
        np.unique([key(point) for point in points], return_inverse=True)[1]
        for key in (testbed_key, layout_key)
    )
    return TrainingRows(points, sizes * np.array(rates), testbeds, layouts)


def testbed_key(point: Point) -> str:
    """Returns a text that identifies a configuration's testbed: the deployment and the file
    system's parameters.
    """
    return point.testbed


@dataclass(frozen=True)
class _Query:
    """A configuration as the key of a cache. Two keys are equal if the digests `id` of their
    configurations are equal."""

    id: str
    point: Point = field(compare=False, repr=False)


@lru_cache(maxsize=4096)
def _described(query: _Query) -> tuple[float, float]:
    """Returns the natural logarithms of two rates of a configuration in bytes per second: the
    sequence model's rate with prior constants, and the line rate.

    Neither rate depends on fitted constants. The results are therefore cached for all folds and
    models of a study.
    """
    situation = Situation(query.point.scenario)
    return (
        _log_rate(situation, uncalibrated(situation)),
        float(np.log(line_rate(situation) * size_bytes(situation))),
    )


def _log_rate(situation: Situation, chosen: Calibration) -> float:
    rate = situation.predict({**situation.constants, **chosen.values}).rate_per_s
    return float(np.log(rate * size_bytes(situation)))


class Priors:
    """Supplies the two additional columns of the grey box. The columns are natural logarithms of a
    configuration's rates in bytes per second: the sequence model's rate and the line rate."""

    def __init__(self, calibration: Calibration | None) -> None:
        self._calibration = calibration
        self._known: dict[str, tuple[float, float]] = {}

    def matrix(self, points: Sequence[Point]) -> np.ndarray:
        """Returns an array of shape (points, 2) with the natural logarithms of two rates in bytes
        per second: the sequence model's rate and the line rate.
        """
        return np.array([self._of(point) for point in points]).reshape(len(points), 2)

    def _of(self, point: Point) -> tuple[float, float]:
        if point.id not in self._known:
            rate, limit = _described(_Query(point.id, point))
            if self._calibration is not None:
                rate = _log_rate(Situation(point.scenario), self._calibration)
            self._known[point.id] = rate, limit
        return self._known[point.id]


class LearntModel:
    """One learning method: an estimator with its encoding, additional columns and prediction
    intervals.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.seed = 1
        self.file_system = ""
        self.encoding: Encoding | None = None
        self.priors = Priors(None)
        self.fitted: Any = None
        self._conformal: Any = None
        self._half_widths: HalfWidths | None = None

    @property
    def is_log(self) -> bool:
        """Whether the target is the logarithm of a rate. True for all methods except the two linear
        methods of Kumar 2018."""
        return self.name not in LINEAR

    def fit(self, results: Sequence[Result]) -> LearntModel:
        """Learns from measured results. Raises RunFailed when there are too few configurations."""
        try:
            rows = rows_of(results)
        except RunFailed as error:
            raise RunFailed(f"{self.name}: {error}") from error
        fitted = trusted(results, rows) if self.name == "greybox" else None
        return self.fit_rows(rows, fitted)

    def fit_rows(
        self, rows: TrainingRows, calibration: Calibration | None, conformal: bool = True
    ) -> LearntModel:
        """Fits the method to training rows.

        `calibration` has the constants of the sequence model, whose rate is a column of the grey
        box; None means prior constants. If `conformal` is false, no prediction intervals are
        prepared, which is faster. The grey box prepares them in any case.
        """
        self.seed = rows.points[0].scenario.run.seed
        self.file_system = rows.points[0].scenario.file_system.name
        self.encoding = Encoding(factors_of(rows.points), "log" if self.is_log else "linear")
        if not self.encoding.factors:
            raise RunFailed(f"{self.name}: nothing varies between the configurations")
        self.priors = Priors(calibration)
        matrix, target = self.matrix(rows.points), self._target(rows.rates)
        self.fitted = self.estimator()
        # Predictions are for new layouts, so each fold holds out all rows of one layout. If there
        # are fewer than FEWEST_GROUPS layouts, each fold holds out all rows of one testbed. If
        # there are too few testbeds as well, each fold holds out a single row.
        wholes = [g for g in (rows.layouts, rows.groups) if len(set(g)) >= FEWEST_GROUPS]
        groups = wholes[0] if wholes else np.arange(len(rows.points))
        # With so few rows, synchronising several threads costs more time on a busy machine than the
        # threads save.
        with threadpool_limits(limits=1):
            if self.name == "greybox":
                grey = self.fitted.fit(matrix, target, groups=groups)
                # Each residual comes from a fit without the row's layout. Only the ridge strength
                # was chosen with all rows.
                self._half_widths = half_widths(
                    grey.left_, grey.cell_of(matrix), groups, CONFIDENCE, self.seed
                )
                return self
            if conformal and self.name != "gaussian":
                folds = GroupKFold(min(CONFORMAL_FOLDS, len(set(groups))))
                # MAPIE's consistency check fails on rounding errors where linear predictions are
                # far from the data.
                score = AbsoluteConformityScore()
                score.consistency_check = False
                self._conformal = CrossConformalRegressor(
                    clone(self.fitted),
                    confidence_level=CONFIDENCE,
                    cv=folds,
                    method="plus",
                    conformity_score=score,
                )
                self._conformal.fit_conformalize(_finite(matrix), target, groups=groups)
            self.fitted.fit(matrix, target)
        return self

    def estimator(self) -> Any:
        """Returns a new, untrained estimator of this method."""
        assert self.encoding is not None
        match self.name:
            case "greybox":
                owners = self.encoding.owner
                wanted = [
                    i for i, one in enumerate(self.encoding.factors) if set(one.keys) & set(CELLS)
                ]
                cells = [i for i, owner in enumerate(owners) if owner in wanted]
                return GreyBox(self.encoding.signs.tolist(), cells, seed=self.seed)
            case "boosting":
                return boosting(self.encoding.signs.tolist(), self.seed)
            case "gaussian":
                return Gaussian(self.seed)
            case "linear-split":
                features = layout_columns(self.encoding, self.file_system)
                return SplitLinear(operation_columns(self.encoding), features)
        return PaperLinear()

    def matrix(self, points: Sequence[Point]) -> np.ndarray:
        """Returns the input of the estimator, of shape (points, columns). The columns are those of
        the encoding. For the grey box, the two columns of `Priors` precede them."""
        assert self.encoding is not None
        own = self.encoding.matrix([point.labels for point in points])
        if self.name != "greybox":
            return own
        return np.hstack([self.priors.matrix(points), own])

    def _target(self, rates: np.ndarray) -> np.ndarray:
        return np.log(rates) if self.is_log else rates / 1e6

    def predict(self, points: Sequence[Point]) -> np.ndarray:
        """Returns predicted rates in bytes per second. The methods of Kumar 2018 predict the rate
        itself. All other methods predict its logarithm, which is converted back."""
        shown: Floats = self.fitted.predict(self.matrix(points))
        return np.exp(shown) if self.is_log else shown * 1e6

    def intervals(self, points: Sequence[Point]) -> np.ndarray:
        """Returns 90 % intervals of shape (points, 2) in bytes per second. The intervals of
        `gaussian` come from its predicted standard deviation. The intervals of any other method
        come from residuals of held-out rows."""
        if self.name == "gaussian":
            middle, sd = self.fitted.predict(self.matrix(points), return_std=True)
            half_width: Floats = quantiles.CONFIDENCE_SDS * sd
            both: Floats = np.column_stack([middle - half_width, middle + half_width])
            return np.exp(both)
        if self._half_widths is not None:
            matrix = self.matrix(points)
            middle = self.fitted.predict(matrix)
            far = self._half_widths.at(self.fitted.cell_of(matrix))
            ends: Floats = np.column_stack([middle - far, middle + far])
            return np.exp(ends)
        bounds: Floats = self._conformal.predict_interval(_finite(self.matrix(points)))[1][:, :, 0]
        return np.exp(bounds) if self.is_log else bounds * 1e6

    def run(self, point: Point) -> Result:
        """Predicts one configuration."""
        return self.run_many([point])[0]

    def run_many(self, points: Sequence[Point]) -> list[Result]:
        """Predicts several configurations in one call, which is faster than one call for each
        configuration. Raises NothingLearnt if the method was not fitted."""
        if self.fitted is None:
            raise NothingLearnt(f"{self.name}: needs measured results to learn from (--from RUN)")
        bounds = self.intervals(points)
        if self.name == "greybox":
            bounds = np.minimum(bounds, np.exp(self.priors.matrix(points)[:, 1:2]))
        return [
            self._result(point, value, *bound)
            for point, value, bound in zip(points, self.predict(points), bounds, strict=True)
        ]

    def _result(self, point: Point, rate: float, lowest: float, highest: float) -> Result:
        size = size_bytes(Situation(point.scenario))
        value, low, high = (float(one) / size for one in (rate, lowest, highest))
        notes = []
        if value <= 0:
            notes.append(f"{self.name}: predicts a negative rate here")
        return Result(
            method=self.name,
            point_id=point.id,
            point=point,
            metrics=metrics_of(
                point, Metric(value=value, low=min(low, value), high=max(high, value))
            ),
            notes=notes,
            provenance=provenance(point.scenario.run.seed),
        )


def trusted(results: Sequence[Result], rows: TrainingRows) -> Calibration | None:
    """Returns a calibration that is fitted to some configurations, or None if the prior constants
    predict the other configurations better. The prior constants may be better if the fit includes
    rows with effects that the description lacks.

    The errors are compared by the median absolute error of the log rate, over the rows that were
    not fitted. If there are no such rows, the fitted calibration is returned.
    """
    chosen = some(results)
    used = {result.point_id for result in chosen}
    others = [i for i, point in enumerate(rows.points) if point.id not in used]
    if not others:
        return calibrate(chosen)
    points, logs = [rows.points[i] for i in others], np.log(rows.rates[others])

    def error(calibration: Calibration | None) -> float:
        return float(np.median(np.abs(Priors(calibration).matrix(points)[:, 0] - logs)))

    fitted = calibrate(chosen)
    return fitted if error(fitted) < error(None) else None


def some(results: Sequence[Result]) -> list[Result]:
    """Returns all results of at most MOST_CALIBRATED configurations, which are chosen at random.
    More are not needed for calibration.
    """
    ids = sorted({result.point_id for result in results})
    kept = set(random.Random(len(ids)).sample(ids, min(MOST_CALIBRATED, len(ids))))
    return [result for result in results if result.point_id in kept]


def _finite(matrix: np.ndarray) -> np.ndarray:
    """Replaces infinite log line rates by a bound that never applies, because MAPIE rejects
    infinite values.
    """
    return np.where(np.isfinite(matrix), matrix, NO_LINE_RATE)
