"""Predicts by a file system's hand-written net, for components that the step language cannot
express.

PVFS has such a net (Nguyen & Apon 2012). It models each packet and page and has no constants to
calibrate. Its prediction error is estimated from the fitted configurations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from dfslab import discover, quantiles
from dfslab.documents.answers import NetworkLevel, NetworkSimulation
from dfslab.method import CONFIDENCE, RunFailed
from dfslab.models.fit.demand import observations
from dfslab.models.tree.prediction import Situation
from dfslab.result import Metric, Result, provenance
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Point

NAMES = ("components",)
# Level of network detail, such as packets -> (result of the simulation, CPU seconds that it took).
Levels = Mapping[str, tuple["Simulated", float]]
# Relative half-width of the 90 % interval before any fit. The simulations of Nguyen & Apon 2012
# were within 20 % of their measurements at one to four clients.
UNFITTED_ERROR = 0.20


def make(name: str) -> Components:
    """Returns the method `components`, the only one of this module."""
    return Components()


class Simulated(Protocol):
    """The result of a simulation by the file system's own net."""

    @property
    def rate_per_s(self) -> float:
        """Operations of all clients per second."""

    @property
    def throughput_bytes_per_s(self) -> float:
        """Bytes of all clients per second."""

    @property
    def time_s(self) -> float:
        """Simulated time in seconds until the last client is done."""

    @property
    def firings(self) -> int:
        """Number of fired transitions."""


def _own_net(situation: Situation) -> Any:
    """Returns the Python module `net.py` in the file system's folder. InputError where the folder
    has none.
    """
    path = situation.system.folder / "net.py"
    if not path.exists():
        allowed = "a file system with a net of its own (net.py), which this one has not"
        raise InputError("file_system.name", situation.system.name, f"components needs {allowed}")
    return discover.load(path)


class Components:
    """Predicts a rate by firing the net in the file system's folder."""

    name = "components"

    def __init__(self, clock: Clock = REAL) -> None:
        self._clock = clock
        self.reach = float(np.log1p(UNFITTED_ERROR))
        self.fitted = 0

    def fit(self, results: Sequence[Result]) -> Components:
        """Estimates the error of predicted rates from measured rates. The net has no constants to
        fit.
        """
        errors = []
        for one in observations(results):
            rate = self._simulate(one.situation).rate_per_s
            errors.append(float(np.log(rate / one.rate_per_s)))
        self.fitted = len(errors)
        if errors:
            quantile = quantiles.student(0.5 + CONFIDENCE / 2, len(errors))
            self.reach = float(quantile * np.sqrt(np.mean(np.square(errors))))
        return self

    def run(self, point: Point) -> Result:
        """Predicts rate and throughput of all clients for one configuration."""
        situation = Situation(point.scenario)
        levels = self._levels(situation)
        found, _ = next(iter(levels.values()))
        factor = float(np.exp(self.reach))

        def metric(value: float) -> Metric:
            return Metric(value=value, low=value / factor, high=value * factor)

        note = f"components: interval of {UNFITTED_ERROR:.0%}, the paper's; nothing was measured"
        return Result(
            method=self.name,
            point_id=point.id,
            point=point,
            metrics={
                "rate_per_s": metric(found.rate_per_s),
                "throughput_bytes_per_s": metric(found.throughput_bytes_per_s),
            },
            notes=[*([] if self.fitted else [note]), costs(levels)],
            network=NetworkSimulation(
                firings=found.firings, time_s=found.time_s, levels=compared(levels)
            ),
            provenance=provenance(point.scenario.run.seed),
        )

    def _simulate(self, situation: Situation) -> Simulated:
        net = _own_net(situation)
        grain = _grains(net, situation)[0]
        return _fired(net, replace(net.setup_of(situation), grain=grain), situation)

    def _levels(self, situation: Situation) -> Levels:
        """Simulates each level of network detail that the scenario requests, the finest first.
        Returns the results and CPU seconds.
        """
        net = _own_net(situation)
        found = {}
        for grain in _grains(net, situation):
            began_s = self._clock.processor_s()
            one = _fired(net, replace(net.setup_of(situation), grain=grain), situation)
            found[grain] = one, self._clock.processor_s() - began_s
        return found


def _grains(net: Any, situation: Situation) -> Sequence[str]:
    """Returns the levels of network detail that the scenario requests, the finest first."""
    requested = situation.scenario.run.network_level
    return [grain for grain in net.GRAINS if requested in ("all", grain)]


def _fired(net: Any, setup: Any, situation: Situation) -> Simulated:
    operations = len(situation.trace.done) if situation.trace else 0
    try:
        found: Simulated = net.simulate(setup, situation.scenario.run.seed, operations)
    except RunFailed as error:
        raise RunFailed(f"components: {error}") from error
    return found


def compared(levels: Levels) -> dict[str, NetworkLevel]:
    """Returns for every level of network detail: throughput, relative error against the finest
    level, firings and CPU seconds.
    """
    finest, _ = next(iter(levels.values()))
    return {
        grain: NetworkLevel(
            throughput_bytes_per_s=one.throughput_bytes_per_s,
            error=one.throughput_bytes_per_s / finest.throughput_bytes_per_s - 1
            if finest.throughput_bytes_per_s
            else 0.0,
            firings=one.firings,
            cpu_s=cpu_s,
        )
        for grain, (one, cpu_s) in levels.items()
    }


def costs(levels: Levels) -> str:
    """Returns the error and CPU seconds of every level of network detail as one line of text."""
    words = [
        f"by {grain} {one.error:+.1%} in {one.cpu_s:.2g} s"
        for grain, one in compared(levels).items()
    ]
    return f"network level, error against the finest and seconds of CPU: {', '.join(words)}"
