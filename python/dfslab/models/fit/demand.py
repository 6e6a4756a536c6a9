"""Calibrates a file system's description: estimates its unknown constants from measured runs.

The method is nonlinear least squares. The residuals are differences between logarithms of measured
and predicted rates and step times. The prior of each constant counts as one more observation.
Standard errors come from the Jacobian. If the data do not determine a constant, the constant keeps
its prior. Its attribute `learnt`, which is 1 - posterior variance / prior variance, is then near 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dfslab import quantiles
from dfslab.arrays import Floats
from dfslab.method import CONFIDENCE, RunFailed
from dfslab.models.fit.description_error import description_sd
from dfslab.models.tree.hardware_draws import hardware_variance
from dfslab.models.tree.predicted import OpenPrediction
from dfslab.models.tree.prediction import Situation, situation_of
from dfslab.result import Result
from dfslab.spec.steps.step_path import StepPath
from dfslab.spec.systems.parameters import Parameter

# Weight of the log residual of a step's time, where the log residual of a rate has the weight 1.
# The weight of a step is below 1 because step times are noisier than rates. The weight is
# multiplied by the step's share of the operation's latency.
STEP_WEIGHT = 0.3
# Standard deviation of the natural logarithm of a measured rate that the fit assumes. It weighs the
# measurements against the priors of the constants.
RATE_SD = 0.15
# A step with fewer measured executions is not fitted.
FEWEST_STEP_COUNT = 5
# Standard deviation of the natural logarithm of a rate that is assumed before any fit. The 90 %
# interval is then a factor of 1.6 up or down.
UNCALIBRATED_SD = 0.3
UNCALIBRATED_FREEDOM = 10
# The note of a prediction whose constants have their priors.
NOT_CALIBRATED = "not calibrated: nothing was measured"
# Largest allowed natural logarithm of an interval's bound: exp(300) is still a finite JSON number.
LARGEST_LOG = 300.0
# Steps of a constant for numerical derivatives. For the derivative in an interval, the constant is
# multiplied or divided by INTERVAL_STEP. For the Jacobian of the fit, FIT_STEP is added to the
# natural logarithm of the constant.
INTERVAL_STEP, FIT_STEP = 1.05, 1e-3
# Largest number of function evaluations of a fit, and the fit's relative tolerances.
MOST_EVALUATIONS, TOLERANCE = 60, 1e-4
# Smallest number of degrees of freedom of the residuals. With fewer, the quantile of Student's t
# would make every interval useless.
FEWEST_FREEDOM = 3
# The residual variance of each operation is averaged with the residual variance of all operations
# together. In this average, the variance of all operations together has the weight of POOLED_WEIGHT
# observations, and its square root is taken as at least LEAST_POOLED_SD.
POOLED_WEIGHT, LEAST_POOLED_SD = 3, 0.01


@dataclass(frozen=True)
class Observation:
    """The measurements of one configuration, as geometric means over its repetitions."""

    situation: Situation
    operations: tuple[str, ...]
    rate_per_s: float
    steps: Mapping[tuple[str, StepPath], float]

    def __hash__(self) -> int:
        return hash((self.operations, self.rate_per_s))


@dataclass(frozen=True)
class CalibratedConstant:
    """A calibrated constant: its estimate in the SI `unit`, and the standard error of the
    estimate's natural logarithm.

    `learnt` is 1 - posterior variance / prior variance; 0 if the data do not determine the constant
    at all.
    """

    key: str
    meaning: str
    unit: str
    value: float
    log_standard_error: float
    learnt: float


@dataclass(frozen=True)
class Calibration:
    """The calibration of one file system: the fitted constants, the covariance of their natural
    logarithms, and for each operation the residual standard deviation of log rates."""

    constants: tuple[CalibratedConstant, ...]
    covariance: Floats
    residual_sd: Mapping[str, float]
    degrees_of_freedom: int
    # Whether measurements determined the constants. If false, every constant has its prior.
    is_measured: bool = True

    @property
    def values(self) -> dict[str, float]:
        """The estimates of all constants in SI units, by the constant's key."""
        return {constant.key: constant.value for constant in self.constants}

    def parameter_variance(self, situation: Situation) -> float:
        """Returns the variance of the log rate of one configuration (`situation`) that is due to
        the uncertainty of the constants."""
        # A constant that occurs in this configuration but in no fitted one has its prior value.
        known = {**situation.constants, **self.values}
        moved = [{**known, one.key: one.value * INTERVAL_STEP} for one in self.constants]
        base, *others = np.log(situation.predict_many([known, *moved]).rate_per_s)
        gradient = (np.array(others) - base) / np.log(INTERVAL_STEP)
        return float(gradient @ self.covariance @ gradient)

    def open_factor(
        self, situation: Situation, known: Mapping[str, float], found: OpenPrediction
    ) -> float:
        """Returns the factor f of the 90 % interval [value / f, value * f] of an open workload's
        response times. The interval widens near saturation.
        """
        gradient = np.zeros(len(self.constants))
        for index, one in enumerate(self.constants):
            # Change the constant downwards, because smaller constants cannot push a station into
            # saturation.
            moved = {**known, one.key: known[one.key] / INTERVAL_STEP}
            predicted = situation.predict_open(moved, found.offered_per_s).latency_s
            if predicted and found.latency_s:
                gradient[index] = np.log(found.latency_s / predicted) / np.log(INTERVAL_STEP)
        residual = self.residual_sd.get(operations_key(situation), self.residual_sd["*"]) ** 2
        variance = residual + float(gradient @ self.covariance @ gradient)
        variance += self._hardware_variance(situation)
        quantile = quantiles.student(0.5 + CONFIDENCE / 2, self.degrees_of_freedom)
        return float(np.exp(min(quantile * np.sqrt(variance), LARGEST_LOG)))

    def interval_factor(
        self,
        situation: Situation,
        residual_sd: Mapping[str, float] | None = None,
        extra_variance: float = 0.0,
    ) -> float:
        """Returns the factor f of the 90 % prediction interval [value / f, value * f] of the
        rate.
        """
        spread = self.residual_sd if residual_sd is None else residual_sd
        residual = spread.get(operations_key(situation), spread["*"]) ** 2
        variance = residual + self.parameter_variance(situation) + extra_variance
        variance += self._hardware_variance(situation)
        quantile = quantiles.student(0.5 + CONFIDENCE / 2, self.degrees_of_freedom)
        return float(np.exp(min(quantile * np.sqrt(variance), LARGEST_LOG)))

    def _hardware_variance(self, situation: Situation) -> float:
        """Returns the variance of the log rate that is due to uncertain hardware rates.

        After a calibration, the result is 0, because the residuals of the fit already include the
        differences between the hardware and its description.
        """
        if self.is_measured:
            return 0.0
        return hardware_variance(situation, {**situation.constants, **self.values})


def uncalibrated(situation: Situation) -> Calibration:
    """Returns the calibration without measurements: every constant has its prior from the
    description.
    """
    declared = situation.system.parameters.of_origin("calibrated")
    keys = sorted(declared)
    constants = tuple(
        CalibratedConstant(
            key,
            declared[key].meaning,
            declared[key].unit,
            situation.measured.get(key, float(declared[key].default or 0.0)),
            situation.spread(key),
            0.0,
        )
        for key in keys
    )
    covariance = np.diag([situation.spread(key) ** 2 for key in keys])
    residual = {"*": description_sd(situation)}
    return Calibration(constants, covariance, residual, UNCALIBRATED_FREEDOM, is_measured=False)


def operations_key(situation: Situation) -> str:
    """Returns the names of the operations of a configuration, joined by "+" into one key."""
    return "+".join(sorted(situation.mix))


def observations(results: Sequence[Result]) -> list[Observation]:
    """Returns one observation for each measured configuration, from its complete results.
    Predictions and results with rate 0 are ignored."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        if result.method == "measure" and result.complete and result.value() > 0:
            groups.setdefault(result.point_id, []).append(result)
    return [_observation(group) for group in groups.values()]


def _observation(group: Sequence[Result]) -> Observation:
    situation = situation_of(group[0].point.scenario)
    times: dict[tuple[str, StepPath], list[float]] = {}
    for result in group:
        for step in result.steps:
            if step.count >= FEWEST_STEP_COUNT and step.time_s_mean > 0:
                times.setdefault((step.operation, step.path), []).append(step.time_s_mean)
    return Observation(
        situation,
        tuple(sorted(situation.mix)),
        float(np.exp(np.mean([np.log(result.value()) for result in group]))),
        {key: float(np.exp(np.mean(np.log(values)))) for key, values in times.items()},
    )


def calibrate(results: Sequence[Result]) -> Calibration:
    """Fits the constants that occur in the measured operations. Raises RunFailed if there are no
    measurements.

    Calls with equal results return the same cached calibration.
    """
    return calibrate_on(observations(results))


def calibrate_on(observed: Sequence[Observation]) -> Calibration:
    """Fits the constants to observations of one file system, as `calibrate` does for results."""
    if not observed:
        raise RunFailed("nothing to calibrate on: no complete measurement of a fitted point")
    return _calibrate(tuple(observed))


@dataclass(frozen=True)
class _Prior:
    """The prior of a constant: mean and standard deviation of its natural logarithm."""

    log: float
    spread: float


def _prior(situations: Sequence[Situation], key: str, default: float) -> _Prior:
    """Returns the prior of one constant for all fitted configurations together.

    The clients' machines may have different profiles, so the priors of the configurations may
    differ. The returned mean is the mean of these priors' means. The returned variance is the mean
    of their variances plus the variance between their means. If the profile of a machine lacks the
    constant, the default value of the description, `default`, is used.
    """
    logs = np.log([one.measured.get(key, default) for one in situations])
    variances = np.array([one.spread(key) ** 2 for one in situations])
    # The means are computed from differences to the first value, so that the mean of equal values
    # is exactly this value.
    off, more = logs - logs[0], variances - variances[0]
    variance = variances[0] + np.mean(more) + np.var(off)
    return _Prior(float(logs[0] + np.mean(off)), float(np.sqrt(variance)))


@lru_cache(maxsize=16)
def _calibrate(observed: tuple[Observation, ...]) -> Calibration:
    system = observed[0].situation.system
    declared = system.parameters.of_origin("calibrated")
    keys = sorted({key for one in observed for key in one.situation.constants})
    situations = [one.situation for one in observed]
    priors = [_prior(situations, key, float(declared[key].default or 0.0)) for key in keys]
    prior = np.array([one.log for one in priors])
    spread = np.array([one.spread for one in priors])

    def residuals(logs: Floats) -> Floats:
        constants = dict(zip(keys, np.exp(logs), strict=True))
        parts = [_residuals(one, [constants])[0] for one in observed]
        return np.concatenate([*parts, (logs - prior) / spread])

    if not keys:
        return _fitted(observed, [], prior, np.zeros((0, 0)), spread, declared)

    def jacobian(logs: Floats) -> Floats:
        return _jacobian(observed, keys, logs, spread)

    import scipy

    solution = scipy.optimize.least_squares(
        residuals,
        prior,
        jacobian,
        loss="soft_l1",
        max_nfev=MOST_EVALUATIONS,
        xtol=TOLERANCE,
        ftol=TOLERANCE,
    )
    covariance = np.asarray(np.linalg.inv(solution.jac.T @ solution.jac), np.float64)
    return _fitted(observed, keys, solution.x, covariance, spread, declared)


def _jacobian(
    observed: Sequence[Observation], keys: Sequence[str], logs: Floats, spread: Floats
) -> Floats:
    """Returns the Jacobian of the residuals, by forward differences. Derivatives are taken with
    respect to the logarithms of the constants. The derivative is 0 if the constant does not occur
    in the observed operation."""
    constants = dict(zip(keys, np.exp(logs), strict=True))
    blocks = []
    for one in observed:
        acting = [index for index, key in enumerate(keys) if key in one.situation.constants]
        moved = [{**constants, keys[i]: constants[keys[i]] * np.exp(FIT_STEP)} for i in acting]
        base, *others = _residuals(one, [constants, *moved])
        block = np.zeros((len(base), len(keys)))
        for index, other in zip(acting, others, strict=True):
            block[:, index] = (other - base) / FIT_STEP
        blocks.append(block)
    return np.vstack([*blocks, np.diag(1.0 / spread)])


def _residuals(one: Observation, sets: Sequence[Mapping[str, float]]) -> Floats:
    """Returns the weighted log residuals of one observation. The array has one row for each set of
    constants. A row has the residual of the rate, followed by the residuals of the step times."""
    prediction = one.situation.predict_many(sets)
    parts = [np.log(prediction.rate_per_s / one.rate_per_s) / RATE_SD]
    for key, measured in one.steps.items():
        modelled = prediction.steps.get(key)
        if modelled is not None and (modelled > 0).all():
            total = np.maximum(prediction.latency_s[key[0]], 1e-12)
            weight = STEP_WEIGHT * np.minimum(1.0, measured / total)
            parts.append(weight * np.log(modelled / measured) / RATE_SD)
    return np.stack(parts, axis=1)


def _fitted(
    observed: Sequence[Observation],
    keys: Sequence[str],
    logs: Floats,
    covariance: Floats,
    spread: Floats,
    declared: Mapping[str, Parameter],
) -> Calibration:
    constants = dict(zip(keys, map(float, np.exp(logs)), strict=True))
    errors: dict[str, list[float]] = {}
    for one in observed:
        ratio = one.situation.predict(constants).rate_per_s / one.rate_per_s
        errors.setdefault("+".join(one.operations), []).append(float(np.log(ratio)))
    count = sum(len(values) for values in errors.values())
    effective = sum(1 - covariance[i, i] / spread[i] ** 2 for i in range(len(keys)))
    freedom = max(FEWEST_FREEDOM, round(count - effective))
    # If the residuals are larger than the assumed noise, the covariance of the constants is
    # multiplied by (residual variance) / (assumed variance).
    scale = max(1.0, _pooled(errors, effective) / RATE_SD) ** 2
    return Calibration(
        tuple(
            CalibratedConstant(
                key,
                declared[key].meaning,
                declared[key].unit,
                constants[key],
                float(np.sqrt(covariance[i, i] * scale)),
                float(max(0.0, 1 - covariance[i, i] / spread[i] ** 2)),
            )
            for i, key in enumerate(keys)
        ),
        covariance * scale,
        shrunk_sd(errors, effective),
        freedom,
    )


def _pooled(errors: Mapping[str, Sequence[float]], parameters: float) -> float:
    values = [value for group in errors.values() for value in group]
    return float(np.sqrt(sum(v * v for v in values) / max(1.0, len(values) - parameters)))


def shrunk_sd(errors: Mapping[str, Sequence[float]], parameters: float) -> dict[str, float]:
    """Returns the residual standard deviation of the log rate for each operation.

    The value of each operation is shrunk towards the value of all operations together, which has
    the key "*". `parameters` is the number of fitted parameters.
    """
    pooled = max(_pooled(errors, parameters), LEAST_POOLED_SD)
    total = sum(len(group) for group in errors.values())
    sds = {"*": pooled}
    for name, group in errors.items():
        share = parameters * len(group) / total
        own = sum(v * v for v in group)
        freedom = max(0.0, len(group) - share) + POOLED_WEIGHT
        sds[name] = float(np.sqrt((own + POOLED_WEIGHT * pooled**2) / freedom))
    return sds
