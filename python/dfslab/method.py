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
