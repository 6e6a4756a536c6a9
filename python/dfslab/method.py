"""The interface of methods, which measure or predict the performance of a configuration.

Every method has `run(point)`, which returns a result; a model also has `fit(results)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dfslab.result import Result
from dfslab.spec.input_error import RunFailed as RunFailed
from dfslab.spec.scenario import Point

CONFIDENCE = 0.90


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
        """Fits the model to measured results, each for a whole configuration. Returns the fitted
        model, which is `self`."""
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
    """Returns the predictions of a model, in the order of the configurations.

    They are computed in one call if the model supports this.
    """
    if isinstance(model, BatchModel):
        return model.run_many(points)
    return [model.run(point) for point in points]
