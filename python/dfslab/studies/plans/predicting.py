"""Predicts without measuring: the rates of configurations by one method, and the limits of metadata
servers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from dfslab import discover
from dfslab.documents.table import labels_text, naming, shared_text
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.spec.hardware.undeclared import undeclared
from dfslab.spec.input_error import InputError, NothingLearnt
from dfslab.spec.scenario import Point, Scenario

if TYPE_CHECKING:
    from dfslab.models.queue import metadata_server
    from dfslab.studies.contract import Progress


def check_method(name: str) -> None:
    """Raises InputError if no model has this name."""
    discover.named(discover.MODELS, name, "--method")


def predict(
    scenario: Scenario, method: str, measured: Sequence[Result] | None, report: Progress
) -> list[Result]:
    """Predicts all configurations of a scenario by one method. If `measured` is given, the method
    is first fitted to these results.

    Raises InputError if the method needs measurements and has not been fitted to any.
    """
    model = discover.model(method)
    points = check(scenario)
    if measured is not None:
        report(0, 1, f"learning from {len(measured)} results")
        model.fit(measured)
    predicted = []
    for index, point in enumerate(points):
        report(index, len(points), f"{method}: {labels_text(point.labels)}")
        try:
            predicted.append(model.run(point))
        except NothingLearnt as error:
            allowed = "learns from measured results: name a run with --from RUN, or use sequence"
            raise InputError("--method", method, allowed) from error
    return [_with_assumptions(one) for one in predicted]


def _with_assumptions(result: Result) -> Result:
    """Returns a prediction with a note on each assumption about hardware that is not declared."""
    scenario = result.point.scenario
    roles = discover.file_system(scenario.file_system.name).roles
    client = next(role.name for role in roles if role.kind == "client")
    notes = undeclared(scenario.deployment, client)
    return result.model_copy(update={"notes": [*result.notes, *notes]}) if notes else result


def metadata_limits(
    scenario: Scenario,
    bound_s: float,
    burst_s: float | None,
    servers: int | None,
    measured: Sequence[Result] | None,
) -> list[metadata_server.ServerLimits]:
    """Returns the limits of the metadata servers (number of files, request rate, bursts) for every
    configuration of a scenario. Configurations with equal limits share one entry, which has the
    names of these configurations.

    `bound_s`: largest mean response time in a burst, in seconds. `burst_s`: length of a burst in
    seconds; None for 1, 10 and 60 s. `servers`: number of metadata servers; None for the deployed
    number. `measured`: results that calibrate the model; None for an uncalibrated model.
    """
    from dfslab.models.fit.demand import calibrate
    from dfslab.models.queue import metadata_server

    points = check(scenario)
    if measured is None:
        # The file systems of a sweep have separate descriptions, and so separate calibrations.
        by_system: dict[str, list[Scenario]] = {}
        for point in points:
            by_system.setdefault(point.scenario.file_system.name, []).append(point.scenario)
        widest = {name: metadata_server.widest_uncalibrated(own) for name, own in by_system.items()}
        calibrations = [widest[point.scenario.file_system.name] for point in points]
    else:
        calibrations = [calibrate(measured)] * len(points)
    lengths = metadata_server.BURSTS_S if burst_s is None else (burst_s,)
    found: dict[str, tuple[metadata_server.ServerLimits, list[Point]]] = {}
    for point, calibration in zip(points, calibrations, strict=True):
        answer = metadata_server.limits(point.scenario, bound_s, calibration, lengths, servers)
        equal = json.dumps(asdict(answer), sort_keys=True)
        found.setdefault(equal, (answer, []))[1].append(point)
    every = [point.labels for point in points]
    name = naming(every)
    return [
        replace(
            answer,
            configuration=shared_text([point.labels for point in group], every),
            configurations=tuple(name(point.labels) for point in group),
            labels=tuple(point.labels for point in group),
        )
        for answer, group in found.values()
    ]
