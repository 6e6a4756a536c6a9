"""The expected rate of each operation, as draws over everything that is not known exactly."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dfslab.arrays import Floats
from dfslab.models.tree.prediction import Situation, situation_of
from dfslab.spec.deployment import Deployment
from dfslab.spec.environment import hardware
from dfslab.spec.scenario import Scenario
from dfslab.studies.decisions.decision_input import drawn_constants
from dfslab.studies.expect.grid import GridOperation
from dfslab.studies.expect.hardware_facts import HardwareFact, with_fact

# Bounds of the 90 % interval of draws.
LOW, HIGH = 0.05, 0.95
# Standard deviation of the natural logarithm of a rate that the description errs by, where all
# constants and the hardware are known; and that of one measurement of some seconds.
DESCRIPTION_SD, MEASUREMENT_SD = 0.12, 0.06
# The least share of the variance of all operations that a fact explains to be worth declaring.
LEAST_EXPLAINED = 0.1


@dataclass(frozen=True)
class Expectation:
    """The expected rates of all operations.

    `centre_per_s`: with the most likely values, shape (operations,). `log_draws`: natural
    logarithms of rates per second, shape (draws, operations), without the description's own error.
    `fact_draws`: logarithms of the drawn factors of each fact, shape (draws, facts).
    """

    centre_per_s: Floats
    log_draws: Floats
    fact_draws: Floats

    @property
    def covariance(self) -> Floats:
        """The covariance of the operations' log rates, the description's error and the noise of a
        measurement included. Shape (operations, operations)."""
        own = DESCRIPTION_SD**2 + MEASUREMENT_SD**2
        spread = np.atleast_2d(np.cov(self.log_draws, rowvar=False))
        return np.asarray(spread + own * np.eye(len(self.centre_per_s)))

    def interval_per_s(self, operation: int) -> tuple[float, float]:
        """The 90 % interval of the rate that a measurement of an operation should show."""
        own = math.hypot(DESCRIPTION_SD, MEASUREMENT_SD)
        draws = self.log_draws[:, operation] + own * normal_draws("own", len(self.log_draws))
        low, high = np.quantile(draws, (LOW, HIGH))
        return float(np.exp(low)), float(np.exp(high))

    def share_of_facts(self, operation: int) -> Floats:
        """The share of the variance of an operation's log rate that each fact explains: its squared
        correlation with the draws. Shape (facts,)."""
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
    """Predicts every operation with drawn constants and drawn hardware.

    A constant or a fact has the same draw in all operations, so that their errors are joint. Where
    the caches of servers cannot be emptied (`can_empty_servers`), half of the draws of cold reads
    read from the servers' memory.
    """
    situations = [situation_of(one.point.scenario) for one in planned]
    columns, centres = [], []
    count = len(drawn_constants(situations[0])) - 1
    factors = np.column_stack(
        [fact.log_sd * normal_draws(fact.name, count) for fact in facts] or [np.zeros(count)]
    )
    for situation in situations:
        base, *drawn = drawn_constants(situation)
        sets = [base]
        for turn, (row, constants) in enumerate(zip(factors, drawn, strict=True)):
            one = {**constants, **_symbols(situation, facts, row)}
            if situation.environment["cold"] and not can_empty_servers:
                one["cold"] = float(turn % 2)
            sets.append(one)
        rates = situation.predict_many(filled(situation, sets)).rate_per_s
        centres.append(float(rates[0]))
        columns.append(np.log(rates[1:]))
    return Expectation(np.array(centres), np.column_stack(columns), factors)


def filled(situation: Situation, sets: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    """Sets of symbols that all name the same symbols; a missing one has its declared value."""
    every = {key for one in sets for key in one}
    known = {**situation.environment, **situation.constants}

    def declared(key: str) -> float:
        return known[key] if key in known else known[key.partition("/")[2]]

    return [{key: one[key] if key in one else declared(key) for key in every} for one in sets]


def _symbols(
    situation: Situation, facts: Sequence[HardwareFact], log_factors: Floats
) -> dict[str, float]:
    deployment = situation.scenario.deployment
    for fact, log_factor in zip(facts, log_factors, strict=False):
        deployment = with_fact(deployment, fact, fact.value * math.exp(log_factor))
    return symbols_of(situation, deployment)


def symbols_of(situation: Situation, deployment: Deployment) -> dict[str, float]:
    """The symbols of a situation that differ on another deployment of the same nodes."""
    changed: Scenario = situation.scenario.model_copy(update={"deployment": deployment})
    found = hardware(changed, situation.system)
    found["network_latency"] = deployment.network.latency
    return {key: value for key, value in found.items() if value != situation.environment.get(key)}


def normal_draws(name: str, count: int) -> Floats:
    """Standard normal numbers of a named quantity, the same in every process."""
    seed = int.from_bytes(hashlib.sha256(f"expect {name}".encode()).digest()[:8], "little")
    return np.asarray(np.random.default_rng(seed).standard_normal(count))


def narrowing_fact(found: Expectation, facts: Sequence[HardwareFact]) -> HardwareFact | None:
    """The fact whose declaration would narrow the intervals most, summed over all operations; None
    if no fact explains more than LEAST_EXPLAINED of their variance."""
    variances = found.log_draws.var(axis=0)
    explained = sum(
        variances[at] * found.share_of_facts(at) for at in range(len(found.centre_per_s))
    )
    best = int(np.argmax(explained)) if len(facts) else -1
    if best < 0 or facts[best].source != "assumed":
        return None
    return facts[best] if float(explained[best]) > LEAST_EXPLAINED * variances.sum() else None
