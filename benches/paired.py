"""Ratios of contenders that take turns: what one costs beside another, and how sure that is."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

SEED = 6
# Two-sided quantiles of a normal distribution.
NINE_OF_TEN, NINETEEN_OF_TWENTY = 1.645, 1.96


@dataclass(frozen=True)
class Ratio:
    """A ratio of times with the interval that holds it in nine of ten such sessions."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Ratio:
        """The same after another factor, which is known."""
        return Ratio(self.value * factor, self.low * factor, self.high * factor)

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def orders(groups: Sequence[Sequence[str]], rounds: int) -> list[list[str]]:
    """Who goes when, each round in another order: nobody always follows the same one.

    Those of a group follow each other: on a busy machine seconds are alike, and minutes are not.
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
    """Where equals are spread about: the median of the means of all pairs, and its interval.

    It heeds single bad rounds as little as the median does and wanders by a fifth less (Hodges and
    Lehmann 1963); the interval is that of Wilcoxon's signed ranks, `quantile` its normal quantile.
    """
    told, count = np.array(values), len(values)
    means = np.sort((told[:, None] + told)[np.triu_indices(count)] / 2)
    spread = (count * (count + 1) * (2 * count + 1) / 24) ** 0.5
    below = max(0, int(len(means) / 2 - quantile * spread))
    return float(np.median(means)), float(means[below]), float(means[-1 - below])


def ratio(
    rounds: Sequence[Mapping[str, float]], ours: Sequence[str], theirs: Sequence[str]
) -> Ratio:
    """Our teams' time over theirs, of rounds that each hold one time a team.

    Logarithms, so that twice as slow and twice as quick cancel.
    """
    told = [
        np.mean([np.log(times[team]) for team in ours])
        - np.mean([np.log(times[team]) for team in theirs])
        for times in rounds
    ]
    return Ratio(*(float(np.exp(value)) for value in middle(told, NINE_OF_TEN)))
