"""The interface of methods.

Every method has `run(point) -> Result`; a model also has `fit(results)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dfslab.result import Result
from dfslab.spec.scenario import Point

CONFIDENCE = 0.90


class RunFailed(Exception):
    """The run failed for a reason outside the input.

    The command prints the reason as one line and exits with code 1.
    """


@runtime_checkable
class Instrument(Protocol):
    """A method that measures the real system and never predicts."""

    name: str

    def run(self, point: Point, repetition: int = 0) -> Result:
        """Measures one configuration once.

        `repetition`: number of the repetition. Raises RunFailed if the run fails.
        """
        ...


@runtime_checkable
class Model(Protocol):
    """A method that predicts and never accesses the real system."""

    name: str

    def fit(self, results: Sequence[Result]) -> Model:
        """Learns from measured results of whole configurations. Returns `self`, the fitted
        model."""
        ...

    def run(self, point: Point) -> Result:
        """Predicts one configuration. Every predicted metric has a 90 % interval."""
        ...


@runtime_checkable
class BatchModel(Model, Protocol):
    """A model that can predict many configurations in one call, which is faster than one call
    for each."""

    def run_many(self, points: Sequence[Point]) -> list[Result]:
        """Predicts the configurations. The results are those of `run`, in the order of `points`."""
        ...


Method = Instrument | Model


def predictions(model: Model, points: Sequence[Point]) -> list[Result]:
    """The results of a model, in the order of the configurations.

    They are computed in one call if the model can do that.
    """
    if isinstance(model, BatchModel):
        return model.run_many(points)
    return [model.run(point) for point in points]
