"""Ratios of contenders that take turns: what one costs beside another, and how sure that is."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

SEED = 6
# Two-sided, of a normal distribution.
NINE_OF_TEN = 1.645


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
        [team for group in lots.sample(list(groups), len(groups))
         for team in lots.sample(list(group), len(group))]
        for _ in range(rounds)
    ]  # fmt: skip


def ratio(
    rounds: Sequence[Mapping[str, float]], ours: Sequence[str], theirs: Sequence[str]
) -> Ratio:
    """Our teams' time over theirs, of rounds that each hold one time a team.

    Logarithms, so that twice as slow and twice as quick cancel. The median of the means of all
    pairs of rounds (Hodges and Lehmann 1963) heeds single bad rounds as little as the median does
    and wanders by a fifth less; its interval is that of Wilcoxon's signed ranks.
    """
    told = np.array([
        np.mean([np.log(times[team]) for team in ours])
        - np.mean([np.log(times[team]) for team in theirs])
        for times in rounds
    ])  # fmt: skip
    count = len(told)
    means = np.sort((told[:, None] + told)[np.triu_indices(count)] / 2)
    spread = (count * (count + 1) * (2 * count + 1) / 24) ** 0.5
    below = max(0, int(len(means) / 2 - NINE_OF_TEN * spread))
    found = (np.median(means), means[below], means[-1 - below])
    return Ratio(*(float(np.exp(value)) for value in found))
