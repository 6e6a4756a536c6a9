"""Predicts without measuring: the rates of configurations by one method, and the limits of metadata
servers."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dfslab import discover
from dfslab.documents.table import labels_text, naming, shared_text
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError, NothingLearnt
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.runs.store import results_of

if TYPE_CHECKING:
    from dfslab.models.queue import metadata_server
    from dfslab.studies.contract import Progress


def _measured(folder: Path) -> list[Result]:
    """Returns the measurements of a run. Raises InputError if the folder is no run folder."""

    return [one for one in results_of(folder) if one.method == "measure"]


def check_method(name: str) -> None:
    """Raises InputError if no model has this name."""
    discover.named(discover.MODELS, name, "--method")


def predict(
    scenario: Scenario, method: str, fitted_on: Path | None, report: Progress
) -> list[Result]:
    """Predicts all configurations of a scenario by one method.

    If `fitted_on` is given, the method is fitted to the results of that run folder first.
    """
    model = discover.model(method)
    points = check(scenario)
    if fitted_on is not None:
        results = _measured(fitted_on)
        report(0, 1, f"learning from {len(results)} results")
        model.fit(results)
    predicted = []
    for index, point in enumerate(points):
        report(index, len(points), f"{method}: {labels_text(point.labels)}")
        try:
            predicted.append(model.run(point))
        except NothingLearnt as error:
            allowed = "learns from measured results: name a run with --from RUN, or use sequence"
            raise InputError("--method", method, allowed) from error
    return predicted


def metadata_limits(
    scenario: Scenario,
    bound_s: float,
    burst_s: float | None,
    servers: int | None,
    fitted_on: Path | None,
) -> list[metadata_server.ServerLimits]:
    """Returns the limits of the metadata servers (number of files, request rate, bursts) for every
    configuration of a scenario. Configurations with equal limits share one entry, which names them.

    `bound_s`: largest mean response time in a burst, in seconds. `burst_s`: length of a burst in
    seconds; None: 1, 10 and 60 s. `servers`: number of metadata servers; None: as deployed.
    `fitted_on`: folder of a run whose measurements calibrate the model; None: not calibrated.
    """
    from dfslab.models.fit.demand import calibrate
    from dfslab.models.queue import metadata_server

    calibration = None
    if fitted_on is not None:
        calibration = calibrate(_measured(fitted_on))
    lengths = metadata_server.BURSTS_S if burst_s is None else (burst_s,)
    found: dict[str, tuple[metadata_server.ServerLimits, list[Point]]] = {}
    points = check(scenario)
    for point in points:
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
        )
        for answer, group in found.values()
    ]
