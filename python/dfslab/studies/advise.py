"""Advice for a configuration: its bottleneck, the recommended change, and the predicted gain.

Every change is a separate scenario, predicted by the sequence model with the same constants. The
interval of a gain comes from constants drawn from their estimated distribution.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dfslab.models.fit.demand import Calibration, calibrate
from dfslab.models.tree.limits import limits_of, text_of
from dfslab.models.tree.prediction import Situation
from dfslab.spec.design import LevelValue
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.advice import Advice, Advised
from dfslab.studies.contract import FinishedRun, Needs, Progress, Study, need_measured

NAMES = ("advice",)
# Largest number of configurations that receive advice. A design has hundreds of configurations, and
# a table of that length would be unreadable.
MOST_ADVISED = 60
DRAWS = 60
WORTH_SAYING = 1.02
# Factor on the processors' frequency in a proposed change.
FASTER = 1.5
# Quantiles of a 90 % interval.
INTERVAL = (0.05, 0.95)


class AdviceStudy(Study[Advised]):
    """Predicts the gain of hardware changes by the sequence model, calibrated on the run."""

    name = "advice"
    result = Advised
    needs = Needs(measured=True, models=True)
    order = 35

    def run(self, run: FinishedRun, progress: Progress) -> Advised:
        """Returns the best change of each configuration.

        Raises RunFailed if the run has no measurements.
        """
        need_measured(run)
        calibration = calibrate([r for r in run.of_method("measure") if not r.point.held_out])
        found = []
        for point in run.points[:MOST_ADVISED]:
            found += advise(point, calibration, run.scenario.run.seed)[:1]
        return Advised(advice=found)


def make(name: str) -> AdviceStudy:
    """Returns the study `advice`; study discovery calls this function with the study's name."""
    return AdviceStudy()


def advise(point: Point, calibration: Calibration, seed: int = 1) -> list[Advice]:
    """Returns the changes of a point's deployment that are worth reporting, the one with the
    largest predicted gain first. The list may be empty. `seed`: for the draws of the model
    constants."""
    situation = Situation(point.scenario)
    # A constant that no measurement determines keeps its default value.
    draws = [{**situation.constants, **drawn} for drawn in _draws(calibration, seed)]
    base = situation.predict_many(draws).rate_per_s
    limit = text_of(limits_of(situation, draws[0]))
    found = []
    for change, scenario in _changes(point.scenario):
        changed = Situation(scenario)
        gains = changed.predict_many(draws).rate_per_s / base
        gain = float(np.median(gains))
        if gain >= WORTH_SAYING:
            low, high = np.quantile(gains, INTERVAL)
            found.append(
                Advice(
                    point_id=point.id,
                    labels=point.labels,
                    limit=limit,
                    change=change,
                    gain=gain,
                    low=float(low),
                    high=float(high),
                )
            )
    return sorted(found, key=lambda advice: -advice.gain)


def _draws(calibration: Calibration, seed: int) -> list[dict[str, float]]:
    """Sets of model constants by name: first the estimates, then random draws from their joint
    distribution."""
    values = calibration.values
    if not values:
        return [{}]
    logs = np.log(list(values.values()))
    random = np.random.default_rng(seed)
    drawn = random.multivariate_normal(logs, calibration.covariance, DRAWS)
    return [values, *(dict(zip(values, np.exp(row), strict=True)) for row in drawn)]


def _changes(scenario: Scenario) -> Iterator[tuple[str, Scenario]]:
    """Yields (description, scenario) of each single hardware change, such as twice the cores or
    half the latency."""
    for group in scenario.deployment.node:
        place = f"deployment.node.{group.name}"
        changes: dict[str, dict[str, LevelValue]] = {
            f"{group.name}: {group.cores * 2} cores instead of {group.cores}": {
                f"{place}.cores": group.cores * 2
            },
            f"{group.name}: cores 1.5 times as fast": {
                f"{place}.frequency": f"{group.frequency * FASTER} Hz"
            },
            f"{group.name}: disks twice as fast": {
                f"{place}.disk.read_rate": f"{group.disk.read_rate * 2} B/s",
                f"{place}.disk.write_rate": f"{group.disk.write_rate * 2} B/s",
            },
            f"{group.name}: half the disk latency": {
                f"{place}.disk.latency": f"{group.disk.latency / 2} s"
            },
            f"{group.name}: network adapters twice as fast": {
                f"{place}.adapter.bandwidth": f"{group.adapter.bandwidth * 2} B/s"
            },
        }
        for change, values in changes.items():
            yield change, scenario.with_values(values)
    network = scenario.deployment.network
    yield (
        "network: half the latency",
        scenario.with_values(
            {
                "deployment.network.latency": f"{network.latency / 2} s",
                "deployment.network.loopback_latency": f"{network.loopback_latency / 2} s",
            }
        ),
    )
