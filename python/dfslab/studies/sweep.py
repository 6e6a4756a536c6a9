"""Runs methods over all configurations: instruments first, in random order, then models.

Every repetition is one pass over all configurations in an order of its own, so that slow drift of
the machine falls on all alike. What the store has is not run again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.store import Store

Report = Callable[[float, float, str], Any]
FITTED_ON = "measure"


def sweep(scenario: Scenario, methods: Sequence[Any], store: Store, report: Report) -> list[Result]:
    """Results of every method at every configuration. RunFailed when an instrument always fails."""
    points = scenario.points()
    instruments = [method for method in methods if not hasattr(method, "fit")]
    models = [method for method in methods if hasattr(method, "fit")]
    jobs = _jobs(points, instruments, scenario)
    results = _measure(jobs, store, report)
    training = [r for r in results if r.method == FITTED_ON and not r.point.held_out]
    for number, model in enumerate(models):
        report(number, len(models), f"{model.name}: fitting")
        results += _predict(model, training, points, store, report)
    return results


def _jobs(points: Sequence[Point], instruments: Sequence[Any], scenario: Scenario) -> list[tuple]:
    """(instrument, point, repetition) in the order of running."""
    jobs: list[tuple] = []
    order = random.Random(scenario.run.seed)
    for instrument in instruments:
        repetitions = scenario.run.repetitions if instrument.name == FITTED_ON else 1
        for repetition in range(repetitions):
            shuffled = list(points)
            order.shuffle(shuffled)
            jobs += [(instrument, point, repetition) for point in shuffled]
    # Points that need another deployment or file system stay together: a bed is started once.
    place = {_bed_key(point): number for number, point in enumerate(points)}
    return sorted(jobs, key=lambda job: place[_bed_key(job[1])])


def _bed_key(point: Point) -> str:
    if not point.scenario.file_system.access.bed:
        return ""
    return point.scenario.model_dump_json(include={"deployment", "file_system"})


def _measure(jobs: Sequence[tuple], store: Store, report: Report) -> list[Result]:
    results: list[Result] = []
    failures: list[RunFailed] = []
    began, ran = time.monotonic(), 0
    for number, (instrument, point, repetition) in enumerate(jobs):
        known = store.find(instrument.name, point.id, repetition)
        if known is not None:
            results.append(known.model_copy(update={"point": point}))
            continue
        report(number, len(jobs), f"{instrument.name} {describe(point)}")
        try:
            result = instrument.run(point, repetition)
        except RunFailed as error:
            failures.append(error)
            if len(failures) > max(3, len(jobs) // 4):
                raise
            continue
        store.add(result)
        results.append(result)
        ran += 1
    if jobs and not results:
        raise failures[0]
    report(len(jobs), len(jobs), f"measured in {time.monotonic() - began:.0f} s ({ran} new)")
    return results


def describe(point: Point) -> str:
    """A configuration in a few words."""
    return " ".join(str(value) for value in point.labels.values()) or point.scenario.name


def _predict(
    model: Any, training: Sequence[Result], points: Sequence[Point], store: Store, report: Report
) -> list[Result]:
    """Fit on configurations that are not held out, predict all."""
    assert not any(result.point.held_out for result in training)
    if training:
        model.fit(training)
    predicted = []
    for number, point in enumerate(points):
        report(number, len(points), f"{model.name} {describe(point)}")
        result = model.run(point)
        store.add(result)
        predicted.append(result)
    return predicted
