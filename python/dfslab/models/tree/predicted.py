"""The types of predictions for one configuration: for closed workloads (with one or several sets of
constants) and for open workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dfslab.arrays import Floats
from dfslab.models.tree.placement import Station
from dfslab.spec.steps.step_path import StepPath


@dataclass(frozen=True)
class PhaseRate:
    """The predicted rate of one phase: operations and moved bytes per second."""

    name: str
    rate_per_s: float
    throughput_bytes_per_s: float


@dataclass(frozen=True)
class Prediction:
    """The sequence model's prediction for one configuration with a closed workload.

    `moved_bytes` is the mean number of bytes of files that an operation reads or writes. `phases`
    has the rates of a workload's phases; it is empty for a single phase.
    """

    rate_per_s: float
    latency_s: Mapping[str, float]
    unloaded_s: Mapping[str, float]
    steps: Mapping[tuple[str, StepPath], float]
    utilisation: Mapping[Station, float]
    bounds_per_s: tuple[float, float]
    moved_bytes: float
    quantiles_s: Mapping[tuple[str, str], float] = field(default_factory=dict)
    phases: Sequence[PhaseRate] = ()


@dataclass(frozen=True)
class Predictions:
    """Predicted rates, latencies and step times, as arrays of shape (sets of constants,)."""

    rate_per_s: Floats
    latency_s: Mapping[str, Floats]
    steps: Mapping[tuple[str, StepPath], Floats]


@dataclass(frozen=True)
class OpenPrediction:
    """The prediction for an open workload. Times are in seconds; they are None or empty if the
    queue is unstable.

    `rate_per_s` counts completed operations. `places` is the size of the server's call queue; None
    without a call queue. `refused` is the share of calls that are rejected because the queue is
    full. A queue of limited size is stable even when overloaded.
    """

    offered_per_s: float
    rate_per_s: float
    largest_rate_per_s: float
    latency_s: float | None
    operations_s: Mapping[str, float]
    quantiles_s: Mapping[str, float]
    bottleneck: str
    places: float | None = None
    refused: float = 0.0


def stacked(found: Sequence[Prediction]) -> Predictions:
    """Converts the predictions for single sets of constants to arrays, with one element for each
    set.
    """
    return Predictions(
        np.array([one.rate_per_s for one in found]),
        {name: np.array([one.latency_s[name] for one in found]) for name in found[0].latency_s},
        {
            key: np.array([one.steps.get(key, 0.0) for one in found])
            for key in {key for one in found for key in one.steps}
        },
    )
