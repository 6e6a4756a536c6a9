"""Functions of single commands on files and folders that users name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dfslab.documents.measured_load import FleetLoadReport
from dfslab.documents.visibility import Visibility
from dfslab.exports import contract as exporters
from dfslab.exports.contract import ResultExporter, RunExporter
from dfslab.fleet import shards
from dfslab.instruments import visibility
from dfslab.instruments.measure import Measure
from dfslab.laboratory import Laboratory, Notify, measured_before
from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.spec.files import inputs
from dfslab.spec.files.outputs import Output
from dfslab.spec.model import InputError, unknown
from dfslab.spec.scenario import Scenario
from dfslab.studies.designs import design as designs
from dfslab.studies.designs.lessons import Proposal
from dfslab.studies.runs import search, store, table
from dfslab.studies.runs.offered import RateProbe

# A part of a load holds its series, which grow with its length.
MOST_PART_BYTES = 4 << 30


def silent(text: str) -> None:
    """Discards progress messages."""


def design(scenario: Scenario) -> designs.Plan:
    """The runs of a scenario's design, and its cost. InputError when it declares no factor."""
    if not scenario.design.factor:
        raise InputError("design.factor", None, "is empty: there is nothing to design")
    return designs.plan(scenario)


def next_runs(scenario: Scenario, data: Path, about: Mapping[str, Any]) -> list[Proposal]:
    """The most informative runs for a question per hour of run time."""
    from dfslab.models.learnt import rows_of
    from dfslab.studies.designs.legal import legal
    from dfslab.studies.designs.next import propose

    allowed = legal(scenario)
    for key in about:
        known = [one for factor in allowed.factors for one in factor.keys]
        if key not in known:
            raise InputError("--about", key, unknown(key, known))
    results = measured_before(data, scenario)
    return propose(scenario, allowed, rows_of(results), about)


def export_runs(folder: Path, output: Output) -> int:
    """Write a run's measurements as a table of runs; the number of rows."""
    output.check()
    return table.write(store.results_of(folder), output)


def export(folder: Path, form: str, output: Output, notify: Notify = silent) -> None:
    """Write a run in another program's format.

    InputError with the known exporters where there is none of that name.
    """
    of_run, of_results = exporters.find(RunExporter, form), exporters.find(ResultExporter, form)
    if of_run is None and of_results is None:
        known = {**exporters.exporters(ResultExporter), **exporters.exporters(RunExporter)}
        raise InputError("--as", form, f"must be one of page, {', '.join(sorted(known))}")
    output.check()
    if of_results is None:
        assert of_run is not None
        output.write(of_run.write(Laboratory().reopen(folder, notify)))
        return
    results, companion = store.results_of(folder), of_results.companion
    if companion is None or output.is_standard:
        output.write(of_results.write(results))
        return
    second = replace(output, path=output.path.with_suffix(companion.suffix)).check()
    output.write(of_results.write(results))
    second.write(companion.write(results))


def measure(laboratory: Laboratory, scenario: Scenario) -> list[Result]:
    """Measure the first configuration, without a run folder."""
    point = check(scenario)[0]
    with laboratory.session() as session:
        session.progress = lambda share, phase: laboratory.progress(share, 1, phase)
        method = Measure(session)
        return [method.run(point, turn) for turn in range(scenario.run.repetitions)]


def visible(laboratory: Laboratory, scenario: Scenario, trials: int) -> list[Visibility]:
    """Time until changes of one client are visible to another, by kind of change."""
    point = check(scenario)[0]
    with laboratory.session() as session:
        return visibility.visibility(point.scenario, trials, session)


def search_rate(laboratory: Laboratory, scenario: Scenario) -> search.Found:
    """The highest rate of the first configuration that meets the objective of `run.search`."""
    with laboratory.session() as session:
        probe = RateProbe(scenario, session)
        session.progress = lambda share, phase: laboratory.progress(
            share, 1, f"{probe.text} {phase}"
        )
        return search.search(scenario.run.search, probe, lambda text: setattr(probe, "text", text))


def merge_parts(files: Sequence[Path]) -> FleetLoadReport:
    """The report of a load, merged from the answer files of its agents."""
    try:
        return shards.of_parts([_part(path) for path in files]).report
    except shards.WrongPlan as error:
        raise InputError("FILE", str(files[0]), str(error)) from error
    except shards.LoadFailed as error:
        raise RunFailed(str(error)) from error


def _part(path: Path) -> shards.KeptPart:
    try:
        return shards.kept_part(inputs.text("FILE", path, MOST_PART_BYTES))
    except InputError:
        raise
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError("FILE", str(path), f"cannot be read: {error}") from error
    except ValueError as error:
        raise InputError("FILE", str(path), "was not left by an agent") from error
