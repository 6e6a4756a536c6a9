"""The interface of methods: `run(point) -> Result`; a model adds `fit(results)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dfslab.result import Result
from dfslab.spec.errors import RunFailed as RunFailed
from dfslab.spec.scenario import Point

CONFIDENCE = 0.90


@runtime_checkable
class Instrument(Protocol):
    """A method that measures the real system; never predicts."""

    name: str

    def run(self, point: Point, repetition: int = 0) -> Result:
        """Measure one configuration once."""
        ...


@runtime_checkable
class Model(Protocol):
    """A method that predicts; never accesses the real system."""

    name: str

    def fit(self, results: Sequence[Result]) -> Model:
        """Learn from measured results (whole configurations); returns itself."""
        ...

    def run(self, point: Point) -> Result:
        """Predict one configuration, every metric with its 90 % interval."""
        ...


@runtime_checkable
class BatchModel(Model, Protocol):
    """A model that predicts a batch of configurations faster than one by one."""

    def run_many(self, points: Sequence[Point]) -> list[Result]:
        """The answers of `run`, in the order of the configurations."""
        ...


Method = Instrument | Model


def predictions(model: Model, points: Sequence[Point]) -> list[Result]:
    """A model's results in the order of the configurations, as a batch if supported."""
    if isinstance(model, BatchModel):
        return model.run_many(points)
    return [model.run(point) for point in points]
