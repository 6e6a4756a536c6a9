"""Predicts file systems whose components cannot be expressed as operation trees, by a hand-written
net.

PVFS has such a net (Nguyen & Apon 2012). It models each packet and page, and has no constants to
calibrate. Its prediction error is estimated from the configurations that were given to the fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dfslab import quantiles
from dfslab.documents.answers import NetworkLevel, NetworkSimulation, PredictedPhase
from dfslab.documents.metrics import LATENCY, MEAN, RATE, THROUGHPUT, key
from dfslab.method import CONFIDENCE
from dfslab.models.component_nets import ComponentPrediction, own_net, simulate
from dfslab.models.fit.demand import observations
from dfslab.models.simulation import PrecisionGoal
from dfslab.models.tree.prediction import Situation
from dfslab.result import Metric, Result, provenance
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.scenario import Point, Scenario
from dfslab.spec.systems.component_net import ComponentNet, NetSetup

NAMES = ("components",)
# For each level of network detail, such as packets: the result of the simulation, and the CPU
# seconds that it took.
Levels = Mapping[str, tuple[ComponentPrediction, float]]
# For each number of clients: the relative half-width of the 90 % interval before any fit. The
# values are the errors that Nguyen & Apon 2012 report in sections 6.2 to 6.4: within 20 % at one
# client, within 25 % at four clients, and over 40 % for many points at eight clients.
UNFITTED_ERROR = {1: 0.20, 4: 0.25, 8: 0.50}
# The error at one number of clients is estimated from the residuals at this number if there are at
# least FEWEST_RESIDUALS of them. Otherwise it is estimated from the residuals at all numbers.
FEWEST_RESIDUALS = 5
# A station that is busy for at least this fraction of the time limits the rate.
LIMITING_SHARE = 0.8


def make(name: str) -> Components:
    """Returns the method `components`, which is the only method of this module."""
    return Components()


class Components:
    """Predicts a rate by firing the net in the file system's folder."""

    name = "components"

    def __init__(self, clock: Clock = REAL) -> None:
        self._clock = clock
        # For each number of clients, the residuals: the logarithms of predicted over measured
        # rates.
        self._residuals: dict[int, list[float]] = {}

    def fit(self, results: Sequence[Result]) -> Components:
        """Estimates the error of predicted rates from measured rates. The net has no constants to
        fit.
        """
        self._residuals = {}
        for one in observations(results):
            rate = self._simulate(one.situation).rate_per_s
            clients = one.situation.scenario.workload.clients
            residual = float(np.log(rate / one.rate_per_s))
            self._residuals.setdefault(clients, []).append(residual)
        return self

    def half_width(self, clients: int) -> float:
        """Returns the half-width of the 90 % interval of the natural logarithm of a rate at a
        number of clients.

        The half-width is estimated from the residuals at this number of clients. If there are fewer
        than FEWEST_RESIDUALS of them, it is estimated from all residuals. Without any residuals, it
        follows from UNFITTED_ERROR.
        """
        every = [one for own in self._residuals.values() for one in own]
        if not every:
            return float(np.log1p(unfitted_error(clients)))
        own = self._residuals.get(clients, [])
        chosen = own if len(own) >= FEWEST_RESIDUALS else every
        quantile = quantiles.student(0.5 + CONFIDENCE / 2, len(chosen))
        return float(quantile * np.sqrt(np.mean(np.square(chosen))))

    def run(self, point: Point) -> Result:
        """Predicts one configuration: the rate and the throughput of all clients together, and the
        rate of each phase of the workload. Latencies are predicted if no trace is replayed and each
        phase has a single operation.

        With `run.precision`, the simulation ends when the half-width of the rate's 90 % interval is
        at most this precision, or after `run.most_repetitions` placements. The model's error does
        not count for this condition; it widens the interval afterwards.
        """
        situation = Situation(point.scenario)
        levels = self._levels(situation)
        found, _ = next(iter(levels.values()))
        clients = point.scenario.workload.clients
        width = float(np.hypot(self.half_width(clients), np.log1p(found.half_width)))
        factor = float(np.exp(width))

        def metric(value: float) -> Metric:
            return Metric(value=value, low=value / factor, high=value * factor)

        metrics = {RATE: metric(found.rate_per_s), THROUGHPUT: metric(found.throughput_bytes_per_s)}
        for operation, latency_s in found.latency_s.items():
            metrics[key(LATENCY, MEAN, operation)] = metric(latency_s)
        error = f"{unfitted_error(clients):.0%}"
        counted = "1 client" if clients == 1 else f"{clients} clients"
        note = f"components: interval of {error} at {counted}, the paper's error; "
        notes = [] if self._residuals else [f"{note}nothing was measured"]
        notes += own_net(situation).notes_of(situation)
        return Result(
            method=self.name,
            point_id=point.id,
            point=point,
            metrics=metrics,
            utilisation=dict(found.utilisation),
            bottleneck=limit_text(found.utilisation),
            phases=_phases(found, factor),
            notes=[*notes, *stopping_notes(found, goal_of(point.scenario)), costs(levels)],
            network=NetworkSimulation(
                firings=found.firings,
                time_s=found.time_s,
                levels=compared(levels),
                placements=found.placements,
                simulated_share=found.share,
                half_width=found.half_width,
            ),
            provenance=provenance(point.scenario.run.seed),
        )

    def _simulate(self, situation: Situation) -> ComponentPrediction:
        grain = _grains(own_net(situation), situation)[0]
        return simulate(situation, grain, goal_of(situation.scenario))

    def _levels(self, situation: Situation) -> Levels:
        """Simulates each level of network detail that the scenario requests, the finest first.
        Returns for each level the result and the CPU seconds of the simulation.
        """
        goal, found = goal_of(situation.scenario), {}
        for grain in _grains(own_net(situation), situation):
            began_s = self._clock.processor_s()
            one = simulate(situation, grain, goal)
            found[grain] = one, self._clock.processor_s() - began_s
        return found


def goal_of(scenario: Scenario) -> PrecisionGoal | None:
    """Returns the precision that a scenario requests for predicted metrics; None if it requests
    none. This prediction method applies one relative precision to rates and latencies."""
    run = scenario.run
    return (
        PrecisionGoal(run.precise, run.precision, run.most_repetitions) if run.precision else None
    )


def stopping_notes(found: ComponentPrediction, goal: PrecisionGoal | None) -> list[str]:
    """Returns notes that say how much of the files was simulated, and whether the requested
    precision was missed. The list is empty if no precision was requested."""
    if goal is None:
        return []
    simulated = (
        f"components: the rate is steady after {found.share:.1%} of each file, known to "
        f"{found.half_width:.1%} by {found.placements} placements of files"
        if found.share < 1
        else f"components: whole files were simulated with {found.placements} placements of files"
    )
    if found.half_width <= goal.precision:
        return [simulated]
    missed = f"{goal.metric} is known to {found.half_width:.1%}, not to {goal.precision:.1%}"
    return [simulated, f"components: {missed}; raise run.most_repetitions"]


def _phases(found: ComponentPrediction, factor: float) -> list[PredictedPhase]:
    """Returns the phases of a prediction. The 90 % interval of each phase's rate is [rate /
    `factor`, rate * `factor`]."""
    return [
        PredictedPhase(
            name=one.name,
            rate_per_s=one.rate_per_s,
            rate_per_s_low=one.rate_per_s / factor,
            rate_per_s_high=one.rate_per_s * factor,
            throughput_bytes_per_s=one.throughput_bytes_per_s,
            limits=[],
        )
        for one in found.phases
    ]


def unfitted_error(clients: int) -> float:
    """Returns the relative half-width of the 90 % interval before any fit. UNFITTED_ERROR has this
    half-width for some numbers of clients. Between these numbers, the half-width is interpolated
    over the logarithm of the number of clients. Above eight clients, it is that of eight
    clients."""
    counts = np.log([float(count) for count in UNFITTED_ERROR])
    return float(np.interp(np.log(clients), counts, list(UNFITTED_ERROR.values())))


def limit_text(utilisation: Mapping[str, float]) -> str:
    """Returns a text on the busiest station: its name, and the fraction of time for which it is
    busy. If this station does not limit the rate, the text names the clients' round trips as the
    limit. The text is empty if no station is known."""
    if not utilisation:
        return ""
    station, share = max(utilisation.items(), key=lambda one: one[1])
    if share >= LIMITING_SHARE:
        return f"{station}: {share:.0%} of the time"
    return f"round trips of each client; busiest {station}: {share:.0%} of the time"


def _grains(net: ComponentNet[NetSetup], situation: Situation) -> Sequence[str]:
    """Returns the levels of network detail that the scenario requests, the finest first."""
    requested = situation.scenario.run.network_level
    return [grain for grain in net.grains if requested in ("all", grain)]


def compared(levels: Levels) -> dict[str, NetworkLevel]:
    """Returns four values for each level of network detail: its throughput, its relative error
    compared with the finest level, its number of firings, and its CPU seconds."""
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
    """Returns one line of text with the relative error and the CPU seconds of every level of
    network detail.
    """
    words = [
        f"by {grain} {one.error:+.1%} in {one.cpu_s:.2g} s"
        for grain, one in compared(levels).items()
    ]
    return f"network level, error against the finest and seconds of CPU: {', '.join(words)}"
