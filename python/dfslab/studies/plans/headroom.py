"""Computes how certainly a deployment sustains the load of the targets: the headroom with its
interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dfslab import quantiles
from dfslab.arrays import Floats
from dfslab.documents.answers import Sureness
from dfslab.method import CONFIDENCE
from dfslab.models.fit.demand import UNCALIBRATED_FREEDOM
from dfslab.models.fit.description_error import description_sd
from dfslab.models.tree.hardware_draws import DRAWS
from dfslab.studies.decisions.decision_input import drawn_values
from dfslab.studies.decisions.gains import sureness
from dfslab.studies.plans.sizing import Load
from dfslab.studies.plans.targets import Targets


@dataclass(frozen=True)
class Headroom:
    """The largest sustainable load divided by the targets' load.

    `low`, `high`: bounds of its 90 % interval. `probability`: probability that the headroom is
    above 1.
    """

    value: float
    low: float
    high: float
    probability: float

    @property
    def is_sure(self) -> bool:
        """Whether the certainty that the headroom is above 1 is high."""
        return sureness(self.probability) is Sureness.HIGH


def headroom_of(load: Load, targets: Targets) -> Headroom:
    """Returns the headroom of a deployment with the given load."""
    value = 1 / load.utilisation if load.utilisation else math.inf
    half_width = _half_width(load, targets)
    sd = half_width / quantiles.CONFIDENCE_SDS
    return Headroom(
        value=value,
        low=value * math.exp(-half_width),
        high=value * math.exp(half_width),
        probability=NormalDist().cdf(math.log(value) / sd),
    )


def _half_width(load: Load, targets: Targets) -> float:
    """Returns the half-width of the 90 % interval of ln(headroom). As in `predict`, the interval
    covers the error of the file system's description, uncertain constants and uncertain hardware.
    If the targets have several operations, the largest of their description errors is used."""
    error_sd = max(description_sd(one) for one in load.situations.values())
    quantile = quantiles.student(0.5 + CONFIDENCE / 2, UNCALIBRATED_FREEDOM)
    return quantile * math.hypot(error_sd, _drawn_sd(load, targets))


def _drawn_sd(load: Load, targets: Targets) -> float:
    """Returns the standard deviation of ln(utilisation of the busiest station). A station is a
    processor, disk or link.

    The utilisation varies because the constants of the model and the hardware are uncertain. The
    utilisation is computed for values drawn from the priors of the constants and of the hardware.
    Returns 0 if no station is used.
    """
    drawn: dict[str, Floats] = {}
    rates = targets.rates_per_s()
    for operation, situation in load.situations.items():
        rate = rates.get(operation, 0.0)
        for turn, one in enumerate(drawn_values(situation)):
            (cost,) = situation.costs(one).values()
            for station, demand_s in (*cost.demands.items(), *cost.background.items()):
                own = drawn.setdefault(str(station), np.zeros(1 + DRAWS))
                own[turn] += rate * demand_s / (station.copies * station.servers)
    used = [one for one in drawn.values() if np.any(one)]
    return float(np.std(np.log(np.max(used, axis=0)))) if used else 0.0
