"""Computes the cost of one contender relative to another from rounds in which the contenders take
turns. The result is a ratio with an interval."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

SEED = 6
# Quantiles of the standard normal distribution for two-sided intervals of 90 % and 95 %.
NINE_OF_TEN, NINETEEN_OF_TWENTY = 1.645, 1.96


@dataclass(frozen=True)
class Ratio:
    """A ratio of times with its 90 % interval."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Ratio:
        """Returns this ratio and its interval, multiplied by a known factor."""
        return Ratio(self.value * factor, self.low * factor, self.high * factor)

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def orders(groups: Sequence[Sequence[str]], rounds: int) -> list[list[str]]:
    """Returns for each round the order of the teams (contenders). The order is random, so that no
    team always follows the same other team.

    The teams of a group are consecutive, so that they run under similar conditions: a busy machine
    changes less within seconds than within minutes.
    """
    lots = random.Random(SEED)
    return [
        [
            team
            for group in lots.sample(list(groups), len(groups))
            for team in lots.sample(list(group), len(group))
        ]
        for _ in range(rounds)
    ]


def middle(values: Sequence[float], quantile: float) -> tuple[float, float, float]:
    """Returns (middle, lower bound, upper bound). The middle is the median of the means of all
    pairs of values (the estimator of Hodges and Lehmann 1963); the bounds are the ends of its
    confidence interval.

    Single bad rounds affect this estimator as little as they affect the median of the values. The
    standard error of the middle is a fifth smaller than the standard error of the median. The
    interval is based on Wilcoxon's signed ranks. `quantile` is the normal quantile of the
    interval's level, such as 1.96 for 95 %.
    """
    measured, count = np.array(values), len(values)
    means = np.sort((measured[:, None] + measured)[np.triu_indices(count)] / 2)
    spread = (count * (count + 1) * (2 * count + 1) / 24) ** 0.5
    below = max(0, int(len(means) / 2 - quantile * spread))
    return float(np.median(means)), float(means[below]), float(means[-1 - below])


def ratio(
    rounds: Sequence[Mapping[str, float]], ours: Sequence[str], theirs: Sequence[str]
) -> Ratio:
    """Returns the ratio of the mean time of the teams `ours` to the mean time of the teams
    `theirs`, with its 90 % interval. `rounds` has for each round the time of each team.

    Logarithms of the times are averaged, so that a ratio of 2 and a ratio of 1/2 cancel.
    """
    measured = [
        np.mean([np.log(times[team]) for team in ours])
        - np.mean([np.log(times[team]) for team in theirs])
        for times in rounds
    ]
    return Ratio(*(float(np.exp(value)) for value in middle(measured, NINE_OF_TEN)))
