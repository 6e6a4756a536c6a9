"""The baselines that a model must beat: mean of the measurements, hardware bound, Amdahl's law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dfslab import quantiles
from dfslab.method import CONFIDENCE, UNLIMITED, RunFailed
from dfslab.models.fit.demand import observations, operations_key
from dfslab.models.regression import metrics_of
from dfslab.models.tree.prediction import Situation, situation_of
from dfslab.result import Metric, Result, provenance
from dfslab.spec.input_error import NothingLearnt
from dfslab.spec.scenario import Point

NAMES = ("mean", "ideal", "serial")
# Standard deviation of ln(rate) that is assumed if only one rate was measured. This standard
# deviation corresponds to a factor of three (exp 1.1), up or down.
UNKNOWN_SD = 1.1


def make(name: str) -> Mean | Ideal | Serial:
    """Returns the baseline called `name`: "mean", "ideal" or "serial"."""
    return Mean() if name == "mean" else Ideal() if name == "ideal" else Serial()


def _half_width(values: Sequence[float]) -> float:
    """Returns the half-width of the 90 % prediction interval around the mean of `values`, which are
    natural logarithms. If there are fewer than two values, UNKNOWN_SD is used as their standard
    deviation."""
    count = len(values)
    if count < 2:
        return quantiles.CONFIDENCE_SDS * UNKNOWN_SD
    quantile = quantiles.student(0.5 + CONFIDENCE / 2, count - 1)
    return float(quantile * np.std(values, ddof=1) * np.sqrt(1 + 1 / count))


class Mean:
    """The baseline that predicts the geometric mean rate of the fitted configurations with the same
    operations.
    """

    name = "mean"

    def __init__(self) -> None:
        self._logs: dict[str, list[float]] = {}

    def fit(self, results: Sequence[Result]) -> Mean:
        """Stores the logarithm of each measured configuration's rate. Raises RunFailed if there are
        no measured results.
        """
        self._logs = {}
        for one in observations(results):
            self._logs.setdefault("+".join(one.operations), []).append(np.log(one.rate_per_s))
        if not self._logs:
            raise RunFailed("mean: no measured result to learn from")
        return self

    def run(self, point: Point) -> Result:
        """Predicts the geometric mean rate of the fitted configurations that have the same
        operations as `point`. If no fitted configuration has these operations, all fitted
        configurations are used. Raises NothingLearnt if no configuration was fitted."""
        if not self._logs:
            raise NothingLearnt("mean: needs measured results to learn from (--from RUN)")
        key = operations_key(situation_of(point.scenario))
        everything = [value for group in self._logs.values() for value in group]
        logs = self._logs.get(key, everything)
        notes = [] if key in self._logs else [f"mean: {key} was never measured, mean of all used"]
        middle, half_width = float(np.mean(logs)), _half_width(logs)
        rate = Metric(
            value=np.exp(middle), low=np.exp(middle - half_width), high=np.exp(middle + half_width)
        )
        return _result(self.name, point, rate, notes)


class Ideal:
    """The baseline that predicts the highest rate that the declared hardware allows. At this rate,
    the busiest resource is never idle.

    Calibrated constants are taken as zero, so only disks and network adapters bound the rate (a
    roofline). An operation that uses neither a disk nor an adapter has no bound. The predicted
    value is the bound. For the interval, the measured rate of each fitted configuration is divided
    by its bound; the spread of these ratios gives the interval.
    """

    name = "ideal"

    def __init__(self) -> None:
        self._logs: dict[str, list[float]] = {}

    def fit(self, results: Sequence[Result]) -> Ideal:
        """Stores, for each measured configuration that has a bound, the logarithm of the ratio of
        its rate to the bound."""
        self._logs = {}
        for one in observations(results):
            bound = _bound(one.situation)
            if bound is not None:
                key = "+".join(one.operations)
                self._logs.setdefault(key, []).append(float(np.log(one.rate_per_s / bound)))
        return self

    def run(self, point: Point) -> Result:
        """Predicts the bound of one configuration. The Result has no metric if the operations use
        no declared resource.
        """
        situation = situation_of(point.scenario)
        bound = _bound(situation)
        if bound is None:
            note = f"ideal: {UNLIMITED}{operations_key(situation)}"
            return Result(
                method=self.name,
                point_id=point.id,
                point=point,
                metrics={},
                notes=[note],
                provenance=provenance(point.scenario.run.seed),
            )
        key = operations_key(situation)
        logs = self._logs.get(key, [0.0])
        notes = [] if key in self._logs else [f"ideal: {key} was never measured, interval assumed"]
        middle, half_width = float(np.mean(logs)), _half_width(logs)
        rate = Metric(
            value=bound,
            low=bound * float(np.exp(middle - half_width)),
            high=bound * max(1.0, float(np.exp(middle + half_width))),
        )
        return _result(self.name, point, rate, notes)


class Serial:
    """The baseline by Amdahl's law, fitted separately for each operation.

    The law is n / rate = u + v n, where n, the number of clients, is the only factor. The rate is
    in bytes per second. u is the time per byte that the clients spend in parallel, and v the serial
    time per byte, both in seconds.
    """

    name = "serial"

    def __init__(self) -> None:
        self._lines: dict[str, tuple[float, float, float]] = {}

    def fit(self, results: Sequence[Result]) -> Serial:
        """Fits u and v (both >= 0) of each operation to the measured rates in bytes/s. For the
        interval, also stores the half-width from the residuals: the logarithms of measured rate /
        fitted rate.
        """
        groups: dict[str, list[tuple[float, float]]] = {}
        for one in observations(results):
            clients = float(one.situation.scenario.workload.clients)
            rate = one.rate_per_s * (one.situation.environment["file_size"] or 1.0)
            groups.setdefault("+".join(one.operations), []).append((clients, rate))
        if not groups:
            raise RunFailed("serial: no measured result to learn from")
        for key, pairs in groups.items():
            clients, rates = np.array(pairs).T
            columns = np.column_stack([np.ones_like(clients), clients])
            # Minimise relative errors, because the quality of predictions is measured by relative
            # errors.
            weights = rates / clients
            import scipy

            (u, v), _ = scipy.optimize.nnls(columns * weights[:, None], np.ones_like(clients))
            errors = np.log(rates * (u + v * clients) / clients)
            self._lines[key] = (u, v, _half_width(errors.tolist()))
        return self

    def run(self, point: Point) -> Result:
        """Predicts the rate for the number of clients of `point`. The only other property of
        `point` that has an effect is its operations. Raises NothingLearnt if no configuration was
        fitted. Raises RunFailed if none of the fitted configurations has the operations of
        `point`."""
        if not self._lines:
            raise NothingLearnt("serial: needs measured results to learn from (--from RUN)")
        situation = situation_of(point.scenario)
        key = operations_key(situation)
        if key not in self._lines:
            raise RunFailed(f"serial: {key} was never measured")
        u, v, half_width = self._lines[key]
        clients = float(point.scenario.workload.clients)
        value = clients / (u + v * clients) / (situation.environment["file_size"] or 1.0)
        rate = Metric(value=value, low=value * np.exp(-half_width), high=value * np.exp(half_width))
        return _result(self.name, point, rate, [])


def _bound(situation: Situation) -> float | None:
    """Returns the upper bound of the rate in operations per second. All calibrated constants are
    taken as zero. Returns None if the operations use no declared resource.
    """
    free = dict.fromkeys(situation.constants, 0.0)
    costs = situation.costs(free)
    latency = sum(share * costs[name].latency_s for name, share in situation.mix.items())
    if latency <= 0:
        return None
    return situation.predict(free).bounds_per_s[1]


def _result(method: str, point: Point, rate: Metric, notes: list[str]) -> Result:
    return Result(
        method=method,
        point_id=point.id,
        point=point,
        metrics=metrics_of(point, rate),
        notes=notes,
        provenance=provenance(point.scenario.run.seed),
    )
