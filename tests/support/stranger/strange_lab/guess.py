"""A model that predicts the same rate for every configuration: the first measured rate. The
interval of each prediction is from a tenth to ten times this rate."""

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
        """Stores the rate of the first result, and returns the model."""
        self._rate_per_s = results[0].value()
        return self

    def run(self, point: Point) -> Result:
        """Returns the stored rate as the prediction for any configuration."""
        rate = self._rate_per_s
        return Result(
            method=self.name,
            point_id=point.id,
            point=point,
            metrics={"rate_per_s": Metric(value=rate, low=rate / 10, high=rate * 10)},
            provenance=provenance(point.scenario.run.seed),
        )


def make(name: str) -> Guess:
    """Returns the model; discovery calls this with the model's name."""
    return Guess()
