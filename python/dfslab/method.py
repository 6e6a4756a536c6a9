"""The interfaces of methods. A model (`Model`) predicts the performance of a configuration; an
instrument measures it. `Method` is the common interface. Instruments have their interface in
`instruments/contract.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dfslab.result import Result
from dfslab.spec.input_error import RunFailed as RunFailed
from dfslab.spec.scenario import Point

CONFIDENCE = 0.90
# Name of the instrument whose results are measured rates and latencies. Models are fitted to its
# results and compared with them.
MEASURE = "measure"
# The baselines: methods that predict without a model of the system. A model has to predict better
# than these.
BASELINES = ("mean", "ideal", "serial")


class Method(Protocol):
    """An instrument or a model. Scenarios and results refer to it by `name`."""

    name: str


@runtime_checkable
class Model(Protocol):
    """A method that predicts and never accesses the real system."""

    name: str

    def fit(self, results: Sequence[Result]) -> Model:
        """Fits the model to complete measured results, and ignores all others. Returns the fitted
        model, which is `self`. Raises RunFailed if there are too few complete results to fit the
        model."""
        ...

    def run(self, point: Point) -> Result:
        """Predicts one configuration. Every predicted metric has a 90 % interval.

        Equal fitted constants and equal configurations give equal predictions. Without a fit, a
        model that needs measured results raises NothingLearnt; any other model predicts, and a note
        states that nothing was measured. Raises InputError or RunFailed, with one line of text, if
        the model does not model the configuration.
        """
        ...


@runtime_checkable
class BatchModel(Model, Protocol):
    """A model that can predict many configurations in one call, which is faster than one call
    for each."""

    def run_many(self, points: Sequence[Point]) -> list[Result]:
        """Predicts the configurations. Returns what `run` would return for each of them, in the
        order of `points`."""
        ...


def predictions(model: Model, points: Sequence[Point]) -> list[Result]:
    """Returns the predictions of a model, in the order of the configurations.

    If the model is a BatchModel, all predictions are computed in one call.
    """
    if isinstance(model, BatchModel):
        return model.run_many(points)
    return [model.run(point) for point in points]
