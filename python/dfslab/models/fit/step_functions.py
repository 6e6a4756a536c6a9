"""Fits the functions f1 to f7 of Wu 2013. Each function gives the time of one measured step from
the parameters of the paper. Wu 2013 leaves these functions to experiments.

A step's time is a sum of terms with coefficients >= 0: a constant, round trips (Dp9), bytes over
the slowest adapter (Dp7, Dp8) and disk, blocks after the first (Dap1, Dap2), and concurrent clients
(Dp4). The last block has a separate term: a write returns once its client has buffered the block,
and the close waits for the block. A step has no byte terms if it moves no file data in the
operation tree. If crossings of the network need processor time, this time is one more term. A whole
operation is the sum of its steps, as in equations (1) and (6) of Wu 2013.

The network wait of a step is computed, not fitted, if the operation tree names the step. A fit to
two short latencies would absorb other differences between the deployments, and could not be
extrapolated to a long latency. The extra work of a client's first operation is not fitted, because
the bytes of all clients have the same effect.

Log ratios are fitted. Small and large files therefore have equal weight, and a predicted time that
is twice the measured time counts as much as one that is half the measured time. Residuals are
weighted by inverse variance. Intervals come from the residuals and from resampled configurations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dfslab import quantiles
from dfslab.method import CONFIDENCE, RunFailed
from dfslab.models.fit.step_terms import REST, TERMS, WHOLE, TermValues
from dfslab.result import Result
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.step_path import StepPath

RESAMPLES = 200
ROUNDS = 8
MOST_RATIO = 30.0
FEWEST_POINTS = 4
# Smallest relative standard deviation that is assumed for a mean and for a fitted function.
LEAST_SD = 0.02


@dataclass(frozen=True)
class TermCoefficient:
    """The coefficient of one term in `unit`, with its 90 % interval."""

    term: str
    unit: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class StepFunction:
    """The fitted time of one step.

    - `points`: number of configurations.
    - `relative_sd`: relative standard deviation of the residuals.
    - `crossed`: whether network waits are computed from the operation tree.
    - `waits`: whether any network wait is longer than 0.
    - `resampled`: coefficients of shape (resamples, terms).
    - `calls`: if the time is a self time, the inner calls whose time is not included.
    - `outer`: coefficients of the operation's outermost steps, from which queueing at the server is
      computed. If `outer` is empty, an operation queues behind all clients.
    - `parts`: the steps whose sum is the operation. A function with parts has no coefficients.
    """

    operation: str
    step: str
    coefficients: tuple[TermCoefficient, ...]
    relative_sd: float
    points: int
    crossed: bool = True
    waits: bool = True
    calls: tuple[str, ...] = ()
    parts: tuple[StepFunction, ...] = ()
    resampled: np.ndarray = field(default_factory=lambda: np.zeros((0, len(TERMS))), repr=False)
    outer: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    def time_s(self, scenario: Scenario) -> tuple[float, float, float]:
        """Returns (time, low, high) in seconds for a configuration: the prediction and its 90 %
        interval.
        """
        return self.time_at_s(TermValues(scenario, self.operation))

    def time_at_s(self, at: TermValues) -> tuple[float, float, float]:
        """Returns (time, low, high) in seconds, as `time_s` does. The term values are already
        computed, so that the functions of one operation can share them."""
        time, others = self.seconds(at)
        logs = np.log(np.maximum(others, 1e-12))
        sd = np.hypot(self.relative_sd, logs.std() if len(logs) else 0.0)
        freedom = max(1, self.points - _used([self, *self.parts]))
        factor = float(np.exp(quantiles.student(0.5 + CONFIDENCE / 2, freedom) * sd))
        return time, time / factor, time * factor

    def seconds(self, at: TermValues) -> tuple[float, np.ndarray]:
        """Returns (time in seconds, array of times). The array has the time by the coefficients of
        each resample."""
        if self.parts:
            each = [part.seconds(at) for part in self.parts]
            return sum(time for time, _ in each), np.sum([others for _, others in each], axis=0)
        terms = at.met(self.outer)
        known = 0.0
        if self.crossed:
            terms, known = at.of_step(terms, self.step, self.calls)
        values = np.array([one.value for one in self.coefficients])
        return float(terms @ values) + known, self.resampled @ terms + known

    def document(self) -> dict[str, object]:
        """Returns the function as JSON data, without the resamples."""
        return {
            "operation": self.operation,
            "step": self.step,
            "function": self.text,
            "coefficients": [asdict(one) for one in self.coefficients],
            "relative_sd": self.relative_sd,
            "points": self.points,
            "crossed": self.crossed,
            "calls": list(self.calls),
            "parts": [part.step for part in self.parts],
        }

    @property
    def text(self) -> str:
        """Returns the function as a formula in text. Terms with coefficient 0 are omitted."""
        if self.parts:
            return " + ".join(part.step for part in self.parts)
        parts = [
            f"{one.value:.3g}{' ' + one.term if one.term != '1' else ' s'}"
            for one in self.coefficients
            if one.value > 0
        ]
        known = ["latency of the network"] if self.crossed and self.waits else []
        return " + ".join([*known, *parts]) or "0"


def _used(functions: Sequence[StepFunction]) -> int:
    """Returns the number of terms that have a positive coefficient in any of the functions."""
    return len({one.term for each in functions for one in each.coefficients if one.value > 0})


class _Samples(NamedTuple):
    """Measurements of a step at several configurations: term values of shape (configurations,
    TERMS), and geometric mean times in seconds.

    `known_s` is the part of each time that is computed instead of fitted. `weights` are the inverse
    variances of the means, normalised to a mean of 1.
    """

    terms: np.ndarray
    times_s: np.ndarray
    known_s: np.ndarray
    weights: np.ndarray


def fit(
    results: Sequence[Result], seed: int = 1, only: Sequence[str] = tuple(TERMS)
) -> list[StepFunction]:
    """Returns the fitted function of each step that was measured at FEWEST_POINTS configurations or
    more. Raises RunFailed if there is no such step.

    `only` lists the terms of TERMS that may be used. With the term "1" alone, each function is the
    mean time. With the terms "1" and "clients met", each function is a fit of Amdahl's law, in
    which an operation queues behind all clients.
    """
    samples: dict[str, dict[str, dict[str, list[float]]]] = {}
    scenarios: dict[str, Scenario] = {}
    for result in results:
        if result.method != "measure" or not result.complete:
            continue
        scenarios[result.point_id] = result.point.scenario
        for step in result.steps:
            if step.time_s_mean > 0:
                points = samples.setdefault(step.operation, {}).setdefault(step.step, {})
                points.setdefault(result.point_id, []).append(step.time_s_mean)
    kept = np.array([name in only for name in TERMS], float)
    found: list[StepFunction] = []
    for operation, steps in sorted(samples.items()):
        enough = {step: points for step, points in steps.items() if len(points) >= FEWEST_POINTS}
        if enough:
            found += _Fit(operation, enough, scenarios, kept, seed).functions()
    if not found:
        raise RunFailed(f"no step was measured at {FEWEST_POINTS} configurations or more")
    return found


class _Fit:
    """Fits all steps of one operation jointly. A joint fit is needed because the steps queue at the
    same servers: the queue length at one step depends on the coefficients of the other steps."""

    def __init__(
        self,
        operation: str,
        steps: Mapping[str, Mapping[str, Sequence[float]]],
        scenarios: Mapping[str, Scenario],
        kept: np.ndarray,
        seed: int,
    ) -> None:
        self._operation, self._seed, self._steps = operation, seed, steps
        self._crossed = bool(kept[list(TERMS).index("network latency")])
        points = {point for times in steps.values() for point in times}
        self._at = {point: TermValues(scenarios[point], operation, kept) for point in points}

    def functions(self) -> list[StepFunction]:
        """Returns the function of each step. The function of the whole operation is the last."""
        outer: dict[str, np.ndarray] = {}
        for _ in range(ROUNDS if self._crossed else 0):
            outer = self._solve_outer(outer)
        found: dict[str, StepFunction] = {}
        for step in sorted(self._steps, key=lambda name: name == WHOLE):
            samples = self._samples(step, outer)
            parts = [found[name] for name in self._outer() if name in found]
            if self._crossed and step == WHOLE and parts:
                found[step] = self._sum(parts, samples)
                continue
            one = _fit((self._operation, step), samples, self._seed)
            found[step] = replace(
                one,
                crossed=self._crossed,
                waits=bool(samples.known_s.any()),
                outer=outer,
                calls=self._calls(step),
            )
        return list(found.values())

    def _calls(self, step: str) -> tuple[str, ...]:
        """Returns the measured inner calls of a step if `step` names a self time, else an empty
        tuple."""
        path = StepPath.read(step)
        if path.names[1:] != (REST,):
            return ()
        others = {name: StepPath.read(name) for name in self._steps if name != step}
        return tuple(
            name
            for name, other in others.items()
            if not other.is_outermost and other.outermost == path.outermost
        )

    def _outer(self) -> list[str]:
        return [step for step in self._steps if StepPath.read(step).is_outermost and step != WHOLE]

    def _solve_outer(self, outer: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the coefficients of each outermost step. If the operation has no steps, returns
        the coefficients of the whole operation. `outer` has the coefficients from the previous
        iteration."""
        return {step: _solved(*self._samples(step, outer)[:3]) for step in self._outer() or [WHOLE]}

    def _samples(self, step: str, outer: Mapping[str, np.ndarray]) -> _Samples:
        points = self._steps[step]
        terms, known = [], []
        for point in points:
            at = self._at[point]
            own, waited = at.met(outer), 0.0
            if self._crossed:
                own, waited = at.of_step(own, step, self._calls(step))
            terms.append(own)
            known.append(waited)
        logs = [np.log(times) for times in points.values()]
        y = np.array([float(np.exp(times.mean())) for times in logs])
        return _Samples(np.array(terms), y, np.array(known), _sureness(logs))

    def _sum(self, parts: Sequence[StepFunction], samples: _Samples) -> StepFunction:
        """Returns the function of an operation as the sum of its steps.

        The errors of the steps may be fully correlated. The standard deviation of the operation's
        time is therefore at least the sum of the steps' standard deviations, both in seconds.
        """
        each = np.array(
            [[part.seconds(self._at[point])[0] for part in parts] for point in self._steps[WHOLE]]
        )
        times = each.sum(axis=0)
        together = float(times @ [part.relative_sd for part in parts] / max(times.sum(), 1e-12))
        spread = max(_spread(each.sum(axis=1), samples, _used(parts)), together)
        return StepFunction(
            self._operation, WHOLE, (), spread, len(samples.times_s), parts=tuple(parts)
        )


def _sureness(logs: Sequence[np.ndarray]) -> np.ndarray:
    """Returns the weight of each mean: its inverse variance, normalised so that the mean weight is
    1. `logs` has, for each mean, the logarithms of the times that were averaged.

    If only one time was averaged, the mean gets the average variance of the other means. If this
    applies to every mean, all weights are 1.
    """
    variances = np.array([one.var(ddof=1) / len(one) if len(one) > 1 else np.nan for one in logs])
    if np.isnan(variances).all():
        return np.ones(len(logs))
    weights = 1 / (LEAST_SD**2 + np.nan_to_num(variances, nan=float(np.nanmean(variances))))
    return np.asarray(weights / weights.mean())


def _fit(key: tuple[str, str], samples: _Samples, seed: int) -> StepFunction:
    x, y, known = samples[:3]
    random = np.random.default_rng(seed)
    resampled = []
    for _ in range(RESAMPLES):
        chosen = random.integers(0, len(y), len(y))
        resampled.append(_solved(x[chosen], y[chosen], known[chosen]))
    return _function(key, _solved(x, y, known), np.array(resampled), samples)


def _function(
    key: tuple[str, str], values: np.ndarray, resampled: np.ndarray, samples: _Samples
) -> StepFunction:
    """Returns a step's function with the coefficients `values`, their intervals from `resampled`,
    and the residual standard deviation on `samples`.
    """
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    coefficients = tuple(
        TermCoefficient(term, unit, float(value), float(min(a, value)), float(max(b, value)))
        for (term, unit), value, a, b in zip(TERMS.items(), values, low, high, strict=True)
    )
    fitted = samples.terms @ values + samples.known_s
    spread = _spread(fitted, samples, int((values > 0).sum()))
    return StepFunction(*key, coefficients, spread, len(fitted), resampled=resampled)


def _spread(predicted_s: np.ndarray, samples: _Samples, used: int) -> float:
    """Returns the weighted residual standard deviation of log time. `used` is the number of fitted
    terms.
    """
    left = np.log(np.maximum(predicted_s, 1e-12) / samples.times_s)
    freedom = max(1, len(left) - used)
    return max(float(np.sqrt((samples.weights * left**2).sum() / freedom)), LEAST_SD)


def _solved(x: np.ndarray, y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Returns the coefficients >= 0 that minimise the squared log errors of predictions p, where p
    = x @ coefficients + known.

    `y` has the measured times in seconds. Up to third order, the log error equals (p - y) / sqrt(p
    y). The minimum is therefore found by repeated least squares, with weights from the p of the
    previous iteration.
    """
    fitted = y
    solved = np.zeros(x.shape[1])
    for _ in range(ROUNDS):
        weights = 1 / np.sqrt(fitted * y)
        weighted = x * weights[:, None]
        scale = np.maximum(np.abs(weighted).max(axis=0), 1e-300)
        import scipy

        solved = (
            scipy.optimize.nnls(weighted / scale, weights * (y - known), maxiter=1000)[0] / scale
        )
        # A prediction near 0 would have an unbounded weight, so predictions are bounded from below.
        fitted = np.maximum(x @ solved + known, y / MOST_RATIO)
    return solved
