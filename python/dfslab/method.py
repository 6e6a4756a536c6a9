"""The interfaces of methods. A method is a model or an instrument, and `Method` is their common
interface.

A model (`Model`) predicts the performance of a configuration. An instrument measures it; the
interface of instruments is in `instruments/contract.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dfslab.quantiles import CONFIDENCE as CONFIDENCE
from dfslab.result import Result
from dfslab.spec.input_error import RunFailed as RunFailed
from dfslab.spec.scenario import Point

# The name of the instrument that measures rates and latencies. Models are fitted to its results,
# and their predictions are compared with its results.
MEASURE = "measure"
# The baselines: methods that predict without a model of the system. A model has to predict better
# than these.
BASELINES = ("mean", "ideal", "serial")
# Begins the note on an operation that uses no declared disk and no declared link. The operation
# follows.
UNLIMITED = "nothing declared limits "


@runtime_checkable
class Method(Protocol):
    """An instrument or a model, as discovery finds it. Scenarios and results refer to it by `name`.

    `RunMethod` of `instruments/contract.py` is the narrower type, which has the function `run`.
    """

    name: str


@runtime_checkable
class Model(Protocol):
    """A method that predicts and never accesses the real system."""

    name: str

    def fit(self, results: Sequence[Result]) -> Model:
        """Fits the model to measured results and returns `self`. Results of incomplete runs are
        ignored. Raises RunFailed if there are too few complete results."""
        ...

    def run(self, point: Point) -> Result:
        """Predicts one configuration. Every predicted metric has a 90 % interval.

        The prediction depends only on the fitted constants and the configuration. If nothing was
        fitted, a model that needs measured results raises NothingLearnt. Any other model predicts
        without measurements and adds a note. If the model does not apply to the configuration,
        raises InputError or RunFailed with one line of text.
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
