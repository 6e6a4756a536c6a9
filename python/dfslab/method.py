"""Every method has one shape: `run(point) -> Result`; a model adds `fit(results)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dfslab.result import Result
from dfslab.spec.scenario import Point

CONFIDENCE = 0.90


class RunFailed(Exception):
    """The run failed for a reason outside the input: one clear line, exit code 1."""


@runtime_checkable
class Instrument(Protocol):
    """Touches the real thing; never predicts."""

    name: str

    def run(self, point: Point, repetition: int = 0) -> Result:
        """Measure one configuration once."""
        ...


@runtime_checkable
class Model(Protocol):
    """Predicts; never touches the network."""

    name: str

    def fit(self, results: Sequence[Result]) -> Model:
        """Learn from measured results (whole configurations); returns itself."""
        ...

    def run(self, point: Point) -> Result:
        """Predict one configuration, every metric with its 90 % interval."""
        ...


@runtime_checkable
class BatchModel(Model, Protocol):
    """A model that predicts many configurations faster together than one by one."""

    def run_many(self, points: Sequence[Point]) -> list[Result]:
        """The answers of `run`, in the order of the configurations."""
        ...


Method = Instrument | Model


def predictions(model: Model, points: Sequence[Point]) -> list[Result]:
    """A model's answers in the order of the configurations, together where it can."""
    if isinstance(model, BatchModel):
        return model.run_many(points)
    return [model.run(point) for point in points]
