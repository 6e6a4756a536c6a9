"""What the commands do: ties instruments, models, studies and the page together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfslab import discover
from dfslab.cli.finished import INSTRUMENTS, Done, Notify, Report, in_order, reopen, studied, weigh
from dfslab.documents.measured_load import FleetLoadReport
from dfslab.fleet import run as fleet
from dfslab.instruments import access, command, visibility
from dfslab.method import RunFailed
from dfslab.report import export as exports
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.spec.lazily import lazily
from dfslab.spec.model import InputError, unknown
from dfslab.spec.scenario import Scenario
from dfslab.studies import design as designs
from dfslab.studies import findings, operations, search, store, stored, table
from dfslab.studies.advice import Advice
from dfslab.studies.compare import compare
from dfslab.studies.expectations import Verdict
from dfslab.studies.findings import Findings
from dfslab.studies.offered import RateProbe
from dfslab.studies.stages import Stages, processor_s
from dfslab.studies.sweep import sweep

if TYPE_CHECKING:
    from dfslab.report import page as pages
else:
    pages = lazily("dfslab.report.page")

__all__ = ["Done", "in_order", "reopen"]


def run(
    scenario: Scenario,
    out: Path,
    fresh: bool,
    report: Report,
    always_page: bool = False,
    recording: Path | None = None,
    recorded: Path | None = None,
    clock: Callable[[], float] = processor_s,
) -> Done:
    """Run every method of the scenario; nothing is created before the file system answers.

    The page is written where there is anything to compare, or always. The operations of the first
    measured run go to a new file, `recording`, where one is named. With `recorded`, a run folder or
    a table of runs, nothing is measured: its runs stand for the measurements. `clock` gives the
    processor seconds that the stages are timed by.
    """
    _check_recording(recording)
    report(0, 1, "planning")
    scenario = designs.planned(scenario)
    known = None
    if recorded is not None:
        known = table.Recorded(_measured_before(recorded, scenario))
        scenario = scenario.with_methods([m for m in scenario.run.methods if m != "trace"])
        scenario = scenario.with_overrides({"run.repetitions": known.repetitions})
    points = check(scenario)
    measured = [m for m in scenario.run.methods if m in INSTRUMENTS]
    stages = Stages(clock)
    with _session(report) as session:
        if measured and known is None and not scenario.design.factor:
            for point in points:
                command.expect(point)
            session.traced = measured[0] == "trace" and command.is_command(points[0])
            with stages.of("loading"):
                session.reach(points[0].scenario)
        run_store = store.open_run(scenario, out, fresh=fresh)
        with run_store.locked():
            session.trace_directory = run_store.folder / "traces"
            session.recording = recording
            methods = [
                known if known is not None and name in INSTRUMENTS else discover.method(name)
                for name in scenario.run.methods
            ]
            results = sweep(scenario, methods, run_store, report, stages)
            if session.recording is not None:
                allowed = "all runs were there already; --fresh runs them again"
                raise InputError("--record", str(recording), allowed)
            if measured:
                # Daemons and clients that end here are counted here.
                with stages.of("loading"):
                    session.close()
            inputs = stored.inputs_hash(run_store.folder)
            said = weigh(scenario, run_store.folder, results, report, stages)
            findings.save(run_store.folder, inputs, said)
            done = Done(scenario, run_store.folder, said, results)
            if said.comparison or said.server_law or said.bottlenecks or always_page:
                with stages.of("page"):
                    write_page(done)
            done.processor_time = stages.spent
            said.notes += run_store.finish(done.document())
    return done


def _check_recording(path: Path | None) -> None:
    if path is not None and path.exists():
        raise InputError("--record", str(path), "exists already; dfslab does not overwrite it")
    if path is not None and not path.parent.is_dir():
        raise InputError("--record", str(path), "its directory does not exist")


@contextmanager
def _session(report: Report) -> Iterator[access.Session]:
    """What is reached is shared; whoever looks at the terminal sees the loads."""
    with access.session(notify=lambda text: report(0, 1, text)) as session:
        session.watch = getattr(report, "watch", None)
        yield session


def design(scenario: Scenario) -> designs.Plan:
    """What a scenario's design would run, and its cost. InputError where it declares no factor."""
    if not scenario.design.factor:
        raise InputError("design.factor", None, "is empty: there is nothing to design")
    return designs.plan(scenario)


def learn(scenario: Scenario, data: Path, page: Path | None, report: Report) -> Done:
    """Study runs that are there already: a run folder, or a table of runs."""
    if not scenario.design.factor:
        raise InputError("design.factor", None, "is empty: there is nothing to learn about")
    results = _measured_before(data, scenario)
    found = Findings(comparison=compare(results))
    found.learning = studied(scenario, results, found.notes, report)
    done = Done(scenario, data, found, results)
    if page is not None:
        study = pages.ReportInput(
            scenario=scenario, results=results, comparison=None, learning=found.learning
        )
        pages.write(study, page)
    return done


def _measured_before(data: Path, scenario: Scenario) -> list[Result]:
    """The measurements of a run folder, or of a table of runs. InputError when it is neither."""
    if data.is_dir():
        return [r for r in store.results_of(data) if r.method == "measure"]
    return table.read(data, scenario)


def next_runs(scenario: Scenario, data: Path, about: Mapping[str, Any]) -> list[Any]:
    """The runs that tell most about a question, for each hour."""
    from dfslab.models.learnt import rows_of
    from dfslab.studies.legal import legal
    from dfslab.studies.next import propose

    allowed = legal(scenario)
    for key in about:
        known = [one for factor in allowed.factors for one in factor.keys]
        if key not in known:
            raise InputError("--about", key, unknown(key, known))
    results = store.results_of(data) if data.is_dir() else table.read(data, scenario)
    return propose(scenario, allowed, rows_of(results), about)


def export_runs(folder: Path, output: Path) -> int:
    """Write a run's measurements as a table of runs; how many there were."""
    if output.exists():
        raise InputError("--output", str(output), "exists already; dfslab does not overwrite it")
    return table.write(store.results_of(folder), output)


def export(folder: Path, form: str, output: Path | None) -> bytes:
    """A run's results in another program's form, also written to a new file where one is named."""
    if form not in exports.FORMS:
        raise InputError("--as", form, f"must be one of page, {', '.join(exports.FORMS)}")
    if output is not None and output.exists():
        raise InputError("--output", str(output), "exists already; dfslab does not overwrite it")
    document = exports.FORMS[form](store.results_of(folder))
    if output is not None:
        store.write_atomically(output, document)
    return document


def measure(scenario: Scenario, report: Report) -> list[Result]:
    """Measure the first configuration, without a run folder."""
    point = check(scenario)[0]
    method: Any = discover.method("measure")
    with _session(report) as session:
        session.progress = lambda share, phase: report(share, 1, phase)
        return [method.run(point, turn) for turn in range(scenario.run.repetitions)]


def visible(scenario: Scenario, trials: int, report: Report) -> list[dict[str, Any]]:
    """When changes of one client are visible to another, by kind of change."""
    point = check(scenario)[0]
    with _session(report):
        return visibility.visibility(point.scenario, trials)


def search_rate(scenario: Scenario, report: Report) -> search.Found:
    """The highest rate of the first configuration that keeps to `run.search`'s objective."""
    probe = RateProbe(scenario)
    with _session(report) as session:
        session.progress = lambda share, phase: report(share, 1, f"{probe.text} {phase}")
        return search.search(scenario.run.search, probe, lambda text: setattr(probe, "text", text))


def merge_parts(files: Sequence[Path]) -> FleetLoadReport:
    """The report of a load from the files that its agents left on their nodes."""
    try:
        return fleet.of_parts([_part(path) for path in files]).report
    except fleet.WrongPlan as error:
        raise InputError("FILE", str(files[0]), str(error)) from error
    except fleet.LoadFailed as error:
        raise RunFailed(str(error)) from error


def _part(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("FILE", str(path), f"cannot be read: {error}") from error
    if not isinstance(found, dict) or not {"plan", "answer"} <= set(found):
        raise InputError("FILE", str(path), "was not left by an agent")
    return found


def write_page(done: Done, path: Path | None = None) -> Path:
    """The page of a run, in its folder or as a new file."""
    if path is not None and path.exists():
        raise InputError("--output", str(path), "exists already; dfslab does not overwrite it")
    said = done.findings
    study = pages.ReportInput(
        scenario=done.scenario,
        results=done.results,
        comparison=said.comparison,
        crossval=said.crossval or None,
        trace=said.trace,
        # Without models there is nothing that could tell what a change would do.
        advice=(said.advice or []) if said.comparison is not None else [],
        learning=said.learning,
        operations=said.operations,
        verdicts=done.verdicts,
        server_law=said.server_law,
        bottlenecks=said.bottlenecks,
    )
    pages.write(study, path or done.page)
    return path or done.page


def advice(folder: Path, notify: Notify) -> list[Advice]:
    """The best change for every configuration that was measured."""
    return reopen(folder, notify, "advice").findings.advice or []


def fitted(folder: Path, notify: Notify) -> tuple[list[operations.Function], list[Verdict]]:
    """f1 to f7 of a run, and what its description expected of it."""
    found = reopen(folder, notify, "functions", "verdicts").findings
    return found.functions or [], found.verdicts or []
