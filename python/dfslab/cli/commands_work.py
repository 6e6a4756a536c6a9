"""Functions that do the work of single commands. The commands themselves only parse arguments and
print results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dfslab.documents.measured_load import FleetLoadReport
from dfslab.documents.visibility_report import Visibility
from dfslab.exports import contract as exporters
from dfslab.exports.contract import ResultExporter, RunExporter
from dfslab.fleet import shards
from dfslab.instruments import visibility
from dfslab.instruments.measure import Measure
from dfslab.laboratory import Laboratory, measured_before
from dfslab.method import RunFailed
from dfslab.notify import Notify, silent
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.spec.design import LevelValue
from dfslab.spec.files import inputs
from dfslab.spec.files.outputs import Output
from dfslab.spec.input_error import InputError, unknown
from dfslab.spec.scenario import Scenario
from dfslab.studies.designs import design_plan as designs
from dfslab.studies.designs.legal import legal
from dfslab.studies.designs.lessons import Proposal
from dfslab.studies.runs import csv_runs, progress_kept, rate_search, store
from dfslab.studies.runs.offered import RateProbe, SearchProgress

# Largest accepted size in bytes of the file that one agent of a workload run leaves with its
# results. The file contains time series, which grow with the length of the run.
MOST_PART_BYTES = 4 << 30


def design(scenario: Scenario) -> designs.DesignPlan:
    """Returns the plan of a scenario's experimental design: its runs and their cost.

    Raises InputError if the scenario declares no factor.
    """
    if not scenario.design.factor:
        raise InputError("design.factor", None, "is empty: name factors in [[design.factor]]")
    return designs.plan(scenario)


def next_runs(scenario: Scenario, data: Path, about: Mapping[str, LevelValue]) -> list[Proposal]:
    """Proposes the next runs: those that reduce the uncertainty of predictions most per hour of run
    time. `data`: folder or table of earlier runs.

    `about`: scenario keys and values. Only the uncertainty of configurations with these values
    counts. Raises InputError for a key that no factor of the design varies.
    """
    from dfslab.models.learnt import rows_of
    from dfslab.studies.designs.next import propose

    allowed = legal(scenario)
    for key in about:
        known = [one for factor in allowed.factors for one in factor.keys]
        if key not in known:
            raise InputError("--about", key, unknown(key, known))
    results = measured_before(data, scenario)
    return propose(scenario, allowed, rows_of(results), about)


def export_runs(folder: Path, output: Output) -> int:
    """Writes the measurements of a run as CSV to `output`. Returns the number of rows."""
    output.check()
    return csv_runs.write(store.results_of(folder), output)


def export(folder: Path, form: str, output: Output, notify: Notify = silent) -> None:
    """Writes a run to `output` in the format of another program. `form` is the name of the exporter
    that converts the run.

    Raises InputError with the names of all exporters if none is named `form`.
    """
    of_run, of_results = exporters.find(RunExporter, form), exporters.find(ResultExporter, form)
    if of_run is None and of_results is None:
        known = {**exporters.exporters(ResultExporter), **exporters.exporters(RunExporter)}
        allowed = f"must be one of {', '.join(sorted(known))}; `dfslab report` writes the page"
        raise InputError("--as", form, allowed)
    output.check()
    if of_results is None:
        assert of_run is not None
        output.write(of_run.write(Laboratory().reopen(folder, notify)))
        return
    results, companion = store.results_of(folder), of_results.companion
    if (unfinished := progress_kept.unfinished_in(folder)) is not None:
        notify(unfinished.sentence)
    if companion is None or output.is_standard:
        output.write(of_results.write(results))
        return
    second = replace(output, path=output.path.with_suffix(companion.suffix)).check()
    output.write(of_results.write(results))
    second.write(companion.write(results))


def measure(laboratory: Laboratory, scenario: Scenario) -> list[Result]:
    """Measures each configuration of a scenario, in order, and returns one result for each
    measurement. Each configuration is measured as often as `run.repetitions` of the scenario says.

    No run folder is created.
    """
    points = check(scenario)
    options = laboratory.options(lambda share, phase: laboratory.progress(share, 1, phase))
    turns = range(scenario.run.repetitions)
    with laboratory.session() as session:
        return [Measure().run(point, session, turn, options) for point in points for turn in turns]


def visible(laboratory: Laboratory, scenario: Scenario, trials: int) -> list[Visibility]:
    """Measures how long a change by one client takes to become visible to another client. The
    measurement uses the first configuration of the scenario. Returns one `Visibility` for each kind
    of change, such as a new file. `trials`: number of changes of each kind."""
    point = check(scenario)[0]
    with laboratory.session() as session:
        return visibility.visibility(point.scenario, trials, session)


def search_rate(laboratory: Laboratory, scenario: Scenario) -> rate_search.SearchOutcome:
    """Returns the outcome of a search for the highest rate at which the scenario's first
    configuration meets the objective in `run.search`."""
    progress = SearchProgress(laboratory.progress)
    with laboratory.session() as session:
        probe = RateProbe(scenario, session, laboratory.options(progress))
        return rate_search.search(scenario.run.search, probe, progress.begin)


def merge_parts(files: Sequence[Path]) -> FleetLoadReport:
    """Merges the files that the agents of one workload run wrote on their hosts. Returns the report
    of the whole run. Raises InputError if the files do not belong to one workload run, and
    RunFailed if the run failed."""
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
        allowed = f"is no report of an agent, which is JSON in the agent's state folder: {error}"
        raise InputError("FILE", str(path), allowed) from error
    except ValueError as error:
        allowed = "is no report of an agent; reports are in the agents' state folders"
        raise InputError("FILE", str(path), allowed) from error
