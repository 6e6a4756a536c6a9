"""Ratios of contenders that take turns: what one costs beside another, and how sure that is."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 4000
SEED = 6


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
    """Our teams' time over theirs: the median over rounds, which each hold one time a team.

    Logarithms, so that twice as slow and twice as quick cancel; the interval draws rounds anew.
    """
    told = np.array([
        np.mean([np.log(times[team]) for team in ours])
        - np.mean([np.log(times[team]) for team in theirs])
        for times in rounds
    ])  # fmt: skip
    lots = np.random.default_rng(SEED).integers(len(told), size=(DRAWS, len(told)))
    drawn = np.median(told[lots], axis=1)
    low, high = np.quantile(drawn, (0.05, 0.95))
    return Ratio(*(float(np.exp(value)) for value in (np.median(told), low, high)))
