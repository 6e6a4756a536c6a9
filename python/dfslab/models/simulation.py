"""The results of a simulated workload, and the condition that ends its replications."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dfslab import quantiles
from dfslab.documents import metrics as metric
from dfslab.method import CONFIDENCE
from dfslab.models.tree.phases import (
    WorkPhase,
    mean_steps,
    mean_times,
    mean_utilisation,
    operations_of,
)
from dfslab.models.tree.placement import Station
from dfslab.spec.steps.step_path import StepPath


@dataclass(frozen=True)
class PrecisionGoal:
    """The condition that ends the replications. The condition is met if the half-width of the
    interval of `metric` is at most `precision` times the metric's mean, or if `most` replications
    have run.

    `metric` may be the latency of an operation. For any other metric, the interval of the rate is
    used.
    """

    metric: str
    precision: float
    most: int

    @property
    def figure(self) -> str:
        """The key of the metric in `Simulation.errors`: the operation if the metric is its mean
        latency, else "rate"."""
        stem = metric.key(metric.LATENCY, metric.MEAN, "")
        return self.metric.removeprefix(stem) if self.metric.startswith(stem) else "rate"


@dataclass(frozen=True)
class Simulation:
    """The results of one configuration, pooled over its replications. Times are in seconds.

    `errors` has relative standard errors: of the rate (key "rate"), and of each operation's
    latency. `phases` has the rate per second of each phase; it is empty for a workload of one
    phase.
    """

    rate_per_s: float
    latency_s: Mapping[str, float]
    steps: Mapping[tuple[str, StepPath], float]
    utilisation: Mapping[Station, float]
    errors: Mapping[str, float]
    operations: int
    offered: int
    firings: int
    replications: int
    units: int
    phases: Sequence[float] = ()

    def half_width(self, goal: PrecisionGoal) -> float:
        """Returns the relative half-width of the confidence interval of a goal's metric; 0 if the
        net has no random element."""
        error = self.errors.get(goal.figure, self.errors["rate"])
        return quantiles.student(0.5 + CONFIDENCE / 2, max(1, self.replications - 1)) * error


def in_sequence(phases: Sequence[WorkPhase], found: Sequence[Simulation]) -> Simulation:
    """Returns the simulation of a whole workload from the simulations `found` of its phases.

    The phases run in sequence, so the time of the workload is the sum of the times of its phases.
    The errors of phases are independent, because each phase is simulated alone.
    """
    if len(found) == 1:
        return found[0]
    parts = list(zip(phases, found, strict=True))
    times_s = [phase.weight / one.rate_per_s for phase, one in parts]
    span_s = sum(times_s)
    errors = {
        "rate": math.hypot(
            *(time * one.errors["rate"] / span_s for time, one in zip(times_s, found, strict=True))
        )
    }
    latency_s = mean_times(phases, [one.latency_s for one in found])
    for name in operations_of(phases):
        count = sum(phase.weight * phase.mix.get(name, 0.0) for phase in phases)
        errors[name] = math.hypot(
            *(
                phase.weight * phase.mix[name] / count * one.errors[name] * one.latency_s[name]
                for phase, one in parts
                if name in phase.mix and name in one.errors
            )
        ) / (latency_s[name] or 1.0)
    random = [one.replications for one in found if one.replications > 1]
    return Simulation(
        rate_per_s=1.0 / span_s,
        latency_s=latency_s,
        steps=mean_steps(phases, [one.steps for one in found]),
        utilisation=mean_utilisation(times_s, [one.utilisation for one in found]),
        errors=errors,
        operations=sum(one.operations for one in found),
        offered=sum(one.offered for one in found),
        firings=sum(one.firings for one in found),
        replications=min(random, default=1),
        units=min(one.units for one in found),
        phases=[one.rate_per_s for one in found],
    )
