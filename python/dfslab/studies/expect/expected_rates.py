"""Computes the expected rate of each operation. The model's constants and the hardware are not
known exactly, so they are drawn at random. Each draw gives one rate for each operation."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dfslab.arrays import Floats
from dfslab.models.tree.prediction import Situation, situation_of
from dfslab.spec.deployment import Deployment
from dfslab.spec.environment import hardware, of_role
from dfslab.spec.scenario import Scenario
from dfslab.studies.decisions.decision_input import drawn_constants
from dfslab.studies.expect.grid import GridOperation, ProbedOperation
from dfslab.studies.expect.hardware_facts import HardwareFact, with_fact

# Quantiles of the draws that bound the 90 % interval.
LOW, HIGH = 0.05, 0.95
# Standard deviations of the natural logarithm of a rate. MEASUREMENT_SD is the noise of one
# measurement of some seconds. The other three are the model's errors for transfers of large files,
# transfers of small files, and metadata operations. Their source is blind trials on eight testbeds,
# in which the median errors of predictions were 10 %, 26 to 32 %, and 34 to 44 %. A median error is
# divided by 0.6745 to get the standard deviation of a normal distribution.
LARGE_SD, SMALL_SD, METADATA_SD, MEASUREMENT_SD = 0.14, 0.38, 0.49, 0.06
# A user is advised to declare a hardware fact if the fact's uncertainty causes more than this share
# of the variance of the log rates, summed over all operations.
LEAST_EXPLAINED = 0.1


@dataclass(frozen=True)
class Expectation:
    """The expected rates of all operations.

    `centre_per_s`: rates per second with the most likely values of the model's constants and of
    the hardware, shape (operations,). `log_draws`: natural logarithms of drawn rates per second,
    shape (draws, operations), without the model's own error. `fact_draws`: natural logarithms of
    the factors by which each hardware fact was multiplied in a draw, shape (draws, facts).
    `own_sd`: standard deviation of the natural logarithm of each operation's rate, shape
    (operations,). It has two causes: the model's own error and the noise of one measurement.
    """

    centre_per_s: Floats
    log_draws: Floats
    fact_draws: Floats
    own_sd: Floats

    @property
    def covariance(self) -> Floats:
        """Returns the covariance matrix of the operations' log rates, shape (operations,
        operations). The covariance includes the effects of the model's own error and of the
        noise of a measurement."""
        spread = np.atleast_2d(np.cov(self.log_draws, rowvar=False))
        return np.asarray(spread + np.diag(self.own_sd**2))

    def interval_per_s(self, operation: int) -> tuple[float, float]:
        """Returns the limits of the 90 % interval in which the measured rate of an operation should
        be, per second. `operation`: index of the operation."""
        own = self.own_sd[operation] * normal_draws("own", len(self.log_draws))
        draws = self.log_draws[:, operation] + own
        low, high = np.quantile(draws, (LOW, HIGH))
        return float(np.exp(low)), float(np.exp(high))

    def share_of_facts(self, operation: int) -> Floats:
        """Returns, for each fact, the share of the variance of an operation's log rate that it
        explains, shape (facts,). The share is the squared correlation between the draws of the
        fact and the draws of the rate. The share is 0 if the fact or the rate does not vary."""
        rate = self.log_draws[:, operation]
        if not len(self.fact_draws.T) or rate.std() == 0:
            return np.zeros(self.fact_draws.shape[1])
        return np.array(
            [
                float(np.corrcoef(one, rate)[0, 1]) ** 2 if one.std() else 0.0
                for one in self.fact_draws.T
            ]
        )


def expectation(
    planned: Sequence[GridOperation], facts: Sequence[HardwareFact], can_empty_servers: bool = True
) -> Expectation:
    """Predicts the rate of every operation with drawn constants and drawn hardware.

    Within a draw, all operations have the same constants and the same hardware, so the errors of
    their rates are correlated. If the caches of servers cannot be emptied (`can_empty_servers`
    is false), cold reads are served from the servers' memory in half of the draws.
    """
    situations = [situation_of(one.point.scenario) for one in planned]
    columns, centres = [], []
    count = len(drawn_constants(situations[0])) - 1
    factors = np.column_stack(
        [fact.log_sd * normal_draws(fact.name, count) for fact in facts] or [np.zeros(count)]
    )
    for operation, situation in zip(planned, situations, strict=True):
        base, *drawn = drawn_constants(situation)
        sets = [{**base, **operation.cache_state}]
        for turn, (row, constants) in enumerate(zip(factors, drawn, strict=True)):
            one = {**constants, **operation.cache_state, **_symbols(situation, facts, row)}
            if situation.environment["cold"] and not can_empty_servers:
                one["cold"] = float(turn % 2)
            sets.append(one)
        rates = situation.predict_many(filled(situation, sets)).rate_per_s
        centres.append(float(rates[0]))
        columns.append(np.log(rates[1:]))
    own_sd = np.array([math.hypot(model_sd(one.operation), MEASUREMENT_SD) for one in planned])
    return Expectation(np.array(centres), np.column_stack(columns), factors, own_sd)


def model_sd(operation: ProbedOperation) -> float:
    """Returns the standard deviation that the model's own error causes in the natural logarithm of
    a predicted rate."""
    if not operation.moves:
        return METADATA_SD
    return LARGE_SD if operation.large else SMALL_SD


def filled(situation: Situation, sets: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    """Returns the `sets` of values of the model's variables, extended so that each set has every
    variable that occurs in any of them. An added variable has its value in `situation`."""
    every = {key for one in sets for key in one}
    known = {**situation.environment, **situation.constants}

    def declared(key: str) -> float:
        return known[key] if key in known else known[of_role(key)]

    return [{key: one[key] if key in one else declared(key) for key in every} for one in sets]


def _symbols(
    situation: Situation, facts: Sequence[HardwareFact], log_factors: Floats
) -> dict[str, float]:
    deployment = situation.scenario.deployment
    for fact, log_factor in zip(facts, log_factors, strict=False):
        deployment = with_fact(deployment, fact, fact.value * math.exp(log_factor))
    return symbols_of(situation, deployment)


def symbols_of(situation: Situation, deployment: Deployment) -> dict[str, float]:
    """Returns those hardware variables of the model whose values change if the modelled
    configuration (`situation`) gets the hardware of another deployment."""
    changed: Scenario = situation.scenario.model_copy(update={"deployment": deployment})
    found = hardware(changed, situation.system)
    found["network_latency"] = deployment.network.latency
    return {key: value for key, value in found.items() if value != situation.environment.get(key)}


def normal_draws(name: str, count: int) -> Floats:
    """Returns standard normal random numbers for the quantity `name`. The numbers are the same in
    every process."""
    seed = int.from_bytes(hashlib.sha256(f"expect {name}".encode()).digest()[:8], "little")
    return np.asarray(np.random.default_rng(seed).standard_normal(count))


def narrowing_fact(found: Expectation, facts: Sequence[HardwareFact]) -> HardwareFact | None:
    """Returns the fact whose declaration would narrow the intervals of all operations most. Returns
    None if the value of that fact is known instead of assumed, or if that fact explains at most the
    share LEAST_EXPLAINED of the variance."""
    variances = found.log_draws.var(axis=0)
    explained = sum(
        variances[at] * found.share_of_facts(at) for at in range(len(found.centre_per_s))
    )
    best = int(np.argmax(explained)) if len(facts) else -1
    if best < 0 or facts[best].source != "assumed":
        return None
    return facts[best] if float(explained[best]) > LEAST_EXPLAINED * variances.sum() else None
