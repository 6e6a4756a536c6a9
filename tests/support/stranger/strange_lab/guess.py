"""A model: every rate is the first measured one, with an interval of a factor of ten."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.result import Metric, Result, provenance
from dfslab.spec.scenario import Point

NAMES = ("guess",)


class Guess:
    """Predicts the same rate for every configuration."""

    name = "guess"

    def __init__(self) -> None:
        self._rate_per_s = 1.0

    def fit(self, results: Sequence[Result]) -> Guess:
        """Store the first measured rate."""
        self._rate_per_s = results[0].value()
        return self

    def run(self, point: Point) -> Result:
        """The stored rate as a prediction."""
        rate = self._rate_per_s
        return Result(
            method=self.name,
            point_id=point.id,
            point=point,
            metrics={"rate_per_s": Metric(value=rate, low=rate / 10, high=rate * 10)},
            provenance=provenance(point.scenario.run.seed),
        )


def make(name: str) -> Guess:
    """The model `name`, for discovery."""
    return Guess()
