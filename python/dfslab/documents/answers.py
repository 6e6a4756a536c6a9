"""The details that a model reports in addition to the predicted metrics: calibrated constants,
fitted regressions, and how much was simulated; also the words for the certainty of an answer.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BeforeValidator

from dfslab.documents.document import Document


def _not_finite(value: float | None) -> float:
    return math.nan if value is None else value


# JSON has no infinities and no NaN. Such numbers are written as null, and null is read as NaN.
Number = Annotated[float, BeforeValidator(_not_finite)]


class Sureness(StrEnum):
    """How probable it is that a statement, such as a predicted gain, is right, as a word.
    `studies/decisions/gains.py` has the least probability of each word."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    UNDECIDED = "cannot tell"


class FittedConstant(Document):
    """A calibrated constant. `value` is in the SI unit `unit`. `log_standard_error` is the standard
    error of ln(value). `learnt` states how much the measurements reduced the variance of the
    constant: 0 for not at all, 1 for a reduction to zero."""

    key: str
    meaning: str
    unit: str
    value: float
    log_standard_error: Number
    learnt: Number


class CalibrationFit(Document):
    """Details of a prediction by the calibrated sequence model.

    `bounds_per_s`: lower and upper bound of the rate in operations per second. `unloaded_s`: for
    each operation, its response time in seconds when there is only one client. `constants`: the
    calibrated constants.
    """

    bounds_per_s: tuple[Number, Number]
    unloaded_s: dict[str, Number]
    constants: list[FittedConstant]


class Coefficient(Document):
    """A coefficient of a regression and its standard error."""

    value: Number
    standard_error: Number


class Importance(Document):
    """How important one quantity is in a regression. `first_order` is its first-order sensitivity
    index: the share of the variance that this quantity alone explains. `share` is this index
    divided by the sum of the indices of all quantities."""

    first_order: Number
    share: Number


class RegressionFit(Document):
    """A fitted regression. `value_is` is "mean" or "median": what a prediction estimates. `dropped`
    lists the excluded quantities: the key is the reason, and the value lists the quantities that
    were excluded for this reason."""

    value_is: str
    r_squared: Number
    adjusted_r_squared: Number
    coefficients: dict[str, Coefficient]
    importance: dict[str, Importance]
    dropped: dict[str, list[str]]


class Limit(Document):
    """One factor that limits a predicted rate. A factor is a resource, a latency, a wait or a pool;
    a small change of the factor changes the rate.

    - `share`: an elasticity. If the factor takes one per cent more time, the time per operation
      grows by `share` per cent.
    - `round_trips`: for network latency only, the number of round trips on the critical path of
      each operation.
    - `busy`: the utilisation of a resource, from 0 to 1; None for a latency or a wait.
    - `bound`: "saturated" if the resource is busy nearly all the time, so that only more or faster
      resources help. "latency" if clients wait for the factor although nothing is saturated, so
      that more clients help. Otherwise "".
    - `step`: the step of an operation that takes most of the factor's time.
    """

    name: str
    share: float
    meaning: str = ""
    round_trips: dict[str, float] = {}
    busy: float | None = None
    bound: Literal["", "saturated", "latency"] = ""
    step: str = ""

    @property
    def title(self) -> str:
        """The name, followed by "saturated" or "latency-bound" if `bound` is set."""
        return f"{self.name}, {self.bound_word}" if self.bound_word else self.name

    @property
    def bound_word(self) -> str:
        """ "saturated", "latency-bound" or ""."""
        return "latency-bound" if self.bound == "latency" else self.bound


class PredictedPhase(Document):
    """The prediction for one phase of a workload: the rate with its 90 % interval, the throughput,
    and the factors that limit the rate. The rate is in operations per second. The throughput is in
    bytes of files per second."""

    name: str
    rate_per_s: float
    rate_per_s_low: float
    rate_per_s_high: float
    throughput_bytes_per_s: float
    limits: list[Limit]


class OpenLoadAnswer(Document):
    """The prediction for an open workload, in which operations arrive at a given rate. The document
    has the offered rate and the largest possible rate, both in operations per second, the size of
    the call queue (None: unbounded), and the share of calls that find the queue full."""

    offered_per_s: Number
    largest_rate_per_s: Number
    call_queue: float | None
    refused: float


class StreamSimulation(Document):
    """Which part of a workload's stream of operations a Petri net simulated, and in which units.
    `operations_per_client` operations of each client were simulated, of the
    `operations_per_client_offered` that the stream has. `firings` is the number of fired
    transitions, summed over all replications. Each pipelined transfer is simulated as at most
    `most_units_of_a_pipeline` units."""

    operations_per_client: int
    operations_per_client_offered: int
    clients: int
    replications: int
    firings: int
    most_units_of_a_pipeline: int


class NetworkLevel(Document):
    """The prediction of a simulation that models the network at one level of detail. The document
    has the throughput in bytes/s and its error relative to the finest level, the number of fired
    transitions, and the processor time of the simulation in seconds."""

    throughput_bytes_per_s: float
    error: float
    firings: int
    cpu_s: float


class NetworkSimulation(Document):
    """A simulation of a Petri net composed of components, at one or several levels of network
    detail. `levels` maps the names of the requested levels to their predictions, the finest first.
    `firings` (number of fired transitions) and `time_s` (simulated time) are those at the finest
    level.

    `placements` is the number of simulated placements of files on servers, and `simulated_share`
    the fraction of each file that was simulated. `half_width` is the half-width of the rate's 90 %
    interval, divided by the rate. The interval does not include the error of the model.
    """

    firings: int
    time_s: float
    levels: dict[str, NetworkLevel]
    placements: int = 1
    simulated_share: float = 1.0
    half_width: float = 0.0
