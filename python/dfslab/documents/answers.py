"""What a model says of its answer beside the metrics: constants, fits, what was simulated."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import BeforeValidator

from dfslab.documents.document import Document


def _not_finite(value: float | None) -> float:
    return math.nan if value is None else value


# JSON has no infinities: what is not finite is written as null, and null is read as NaN.
Number = Annotated[float, BeforeValidator(_not_finite)]


class FittedConstant(Document):
    """A calibrated constant; `learnt`: the share of its prior's uncertainty that data removed."""

    key: str
    meaning: str
    unit: str
    value: float
    log_standard_error: Number
    learnt: Number


class CalibrationFit(Document):
    """What a prediction by steps rests on: bounds of the rate (operations a second), times without
    any other client (seconds, by operation), and the constants.
    """

    bounds_per_s: tuple[Number, Number]
    unloaded_s: dict[str, Number]
    constants: list[FittedConstant]


class Coefficient(Document):
    """A coefficient of a regression and its standard error."""

    value: Number
    standard_error: Number


class Importance(Document):
    """A quantity's first-order index (share of the variance) and its share of all such indices."""

    first_order: Number
    share: Number


class RegressionFit(Document):
    """A fitted regression; `value_is`: "mean" or "median"; `dropped`: left-out quantities by
    reason.
    """

    value_is: str
    r_squared: Number
    adjusted_r_squared: Number
    coefficients: dict[str, Coefficient]
    importance: dict[str, Importance]
    dropped: dict[str, list[str]]


class OpenLoadAnswer(Document):
    """An open load: the declared and the largest rate, places in the call queue (None: no end), and
    the share of calls that find it full.
    """

    offered_per_s: Number
    largest_rate_per_s: Number
    call_queue: float | None
    refused: float


class StreamSimulation(Document):
    """How much of a stream its net simulated, and at what grain.

    Operations of each client, out of how many that it offers; the clients; replications; firings of
    all of them; and the most units that a pipeline's transfer is cut into.
    """

    operations_per_client: int
    operations_per_client_offered: int
    clients: int
    replications: int
    firings: int
    most_units_of_a_pipeline: int


class NetworkLevel(Document):
    """The answer at one level of detail of the network: rate, its relative error against the finest
    level, firings, and seconds of processor.
    """

    throughput_bytes_per_s: float
    error: float
    firings: int
    cpu_s: float


class NetworkSimulation(Document):
    """A simulation of a net of components: firings and simulated time at the finest level of detail
    of the network, and every level that was asked for by its name, the finest first.
    """

    firings: int
    time_s: float
    levels: dict[str, NetworkLevel]
