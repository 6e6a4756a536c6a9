"""What the commands do: ties instruments, models, studies and the page together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfslab import discover
from dfslab.cli import trace_work
from dfslab.fleet import run as fleet
from dfslab.instruments import access, command, visibility
from dfslab.instruments import trace as tracing
from dfslab.method import RunFailed
from dfslab.models import metadata_server, step_functions
from dfslab.models.demand import calibrate
from dfslab.report import export as exports
from dfslab.report import terminal
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.spec.lazily import lazily
from dfslab.spec.model import InputError, unknown
from dfslab.spec.scenario import Point, Scenario, read
from dfslab.studies import (
    bottlenecks,
    crossval,
    expectations,
    io500,
    operations,
    search,
    server_law,
    store,
    table,
)
from dfslab.studies import design as designs
from dfslab.studies.advise import Advice, advise
from dfslab.studies.compare import Comparison, Score, compare
from dfslab.studies.offered import RateProbe
from dfslab.studies.sweep import sweep

if TYPE_CHECKING:
    from dfslab.report import page as pages
else:
    pages = lazily("dfslab.report.page")

Report = Callable[..., None]
VALIDATED = ("sequence", "regression", "mean")
INSTRUMENTS = ("measure", "trace")
# A design has hundreds of configurations, of which nobody reads the advice one by one.
MOST_ADVISED = 60
WHOLE_FILES_FROM_BYTES = 1_000_000


@dataclass
class Done:
    """A finished run: its folder, results and what the studies say."""

    scenario: Scenario
    folder: Path
    results: list[Result]
    comparison: Comparison | None = None
    crossval: dict[str, Score] = field(default_factory=dict)
    trace: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    learning: Any = None
    operations: operations.Operations | None = None
    server_law: server_law.ServerLaw | None = None
    verdicts: list[expectations.Verdict] = field(default_factory=list)
    bottlenecks: list[bottlenecks.Bottlenecks] = field(default_factory=list)

    @property
    def page(self) -> Path:
        """Where the page is."""
        return self.folder / "report.html"

    @property
    def methods(self) -> list[str]:
        """The predicting methods, in the scenario's order."""
        return [m for m in self.scenario.run.methods if m not in INSTRUMENTS]

    def document(self) -> dict[str, Any]:
        """The JSON of `run`: points, and scores of every model and baseline."""
        found: dict[str, Any] = {
            "scenario": self.scenario.name,
            "folder": str(self.folder),
            "page": str(self.page) if self.page.exists() else None,
            "notes": self.notes,
        }
        if whole := [one for one in io500.scores(self.results) if one.score is not None]:
            found["io500"] = [one.model_dump() for one in whole]
        if self.comparison is None:
            found["results"] = [result.model_dump(mode="json") for result in self.results]
        if self.server_law is not None:
            found["server_law"] = self.server_law.model_dump(mode="json")
        if self.bottlenecks:
            found["bottlenecks"] = [one.model_dump(mode="json", exclude={"roots"})
                                    for one in self.bottlenecks]  # fmt: skip
        if self.comparison is None:
            return found
        rows = self.comparison.model_dump(mode="json")
        found["points"] = rows.pop("rows")
        found.update(rows)
        if self.operations is not None:
            found["held_out_by_step"] = {
                step: {method: score.model_dump() for method, score in scores.items()}
                for step, scores in self.operations.held_out.items()
            }
            found["noise_floor_by_step"] = {
                step: floor.model_dump() for step, floor in self.operations.floors.items()
            }
        if self.verdicts:
            found["expectations"] = expectations.tally(self.verdicts)
        found["cross_validated"] = {k: s.model_dump() for k, s in self.crossval.items()}
        if self.learning is not None:
            found["learning"] = self.learning.model_dump(
                mode="json", exclude={"validation": {"rows"}}
            )
        found["held_out_large_files"] = {k: s.model_dump() for k, s in self._large_files().items()}
        return found

    def _large_files(self) -> dict[str, Score]:
        """Scores on held-out reads and writes of at least 1 MB."""
        assert self.comparison is not None
        sizes = {result.point_id: _file_bytes(result) for result in self.results}
        rows = [
            row for row in self.comparison.rows
            if row.held_out and set(row.operations) <= {"read", "write"}
            and sizes.get(row.point_id, 0) >= WHOLE_FILES_FROM_BYTES
        ]  # fmt: skip
        return self.comparison.scores(rows)

    def tables(self) -> list[Any]:
        """What people see."""
        tables: list[Any]
        if self.bottlenecks:
            timed = [one for one in in_order(self.scenario, self.results)
                     if one.method == "measure"]  # fmt: skip
            tables = [terminal.result_table(timed)] if timed else []
            return [*tables, *terminal.bottleneck_tables(self.bottlenecks), *self.notes]
        if self.comparison is None:
            ordered = in_order(self.scenario, self.results)
            return [terminal.result_table(ordered), *self.notes]
        tables = [terminal.comparison_table(self.comparison, self.methods)]
        for title, scores in (
            ("Errors on held-out configurations", self.comparison.held_out),
            ("… of these, reads and writes of 1 MB and more", self._large_files()),
            ("Errors in cross-validation over whole configurations", self.crossval),
        ):
            if scores:
                tables.append(terminal.score_table(title, scores))
        if self.learning is not None:
            tables += terminal.learning_tables(self.learning)
        return [*tables, *self.notes]


def _file_bytes(result: Result) -> float:
    throughput = result.metrics.get("throughput_bytes_per_s")
    return throughput.value / result.value() if throughput and result.value() else 0.0


def run(
    scenario: Scenario,
    out: Path,
    fresh: bool,
    report: Report,
    always_page: bool = False,
    recording: Path | None = None,
    recorded: Path | None = None,
) -> Done:
    """Run every method of the scenario; nothing is created before the file system answers.

    The page is written where there is anything to compare, or always. The operations of the first
    measured run go to a new file, `recording`, where one is named. With `recorded`, a run folder or
    a table of runs, nothing is measured: its runs stand for the measurements.
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
    with _session(report) as session:
        if measured and known is None and not scenario.design.factor:
            for point in points:
                command.expect(point)
            session.traced = measured[0] == "trace" and command.is_command(points[0])
            session.reach(points[0].scenario)
        run_store = store.open_run(scenario, out, fresh=fresh)
        with run_store.locked():
            session.trace_directory = run_store.folder / "traces"
            session.recording = recording
            methods = [known if known is not None and name in INSTRUMENTS
                       else discover.method(name) for name in scenario.run.methods]  # fmt: skip
            results = sweep(scenario, methods, run_store, report)
            if session.recording is not None:
                allowed = "all runs were there already; --fresh runs them again"
                raise InputError("--record", str(recording), allowed)
            session.close()
            done = _weigh(scenario, run_store.folder, results, report)
            if done.comparison or done.server_law or done.bottlenecks or always_page:
                write_page(done)
            run_store.finish(done.document())
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


def _weigh(scenario: Scenario, folder: Path, results: list[Result], report: Report) -> Done:
    """What the studies say of a set of results."""
    done = Done(scenario, folder, results)
    done.notes = list(dict.fromkeys(note for result in results for note in result.notes))
    measured = [result for result in results if result.method == "measure"]
    done.server_law = server_law.server_law(results)
    if measured and done.methods:
        done.comparison = compare(results)
        done.operations = operations.operations(results)
        if not scenario.design.factor:
            done.verdicts = _expected(results)
        models = [name for name in done.methods if name in VALIDATED]
        report(0, 1, "cross-validating")
        done.crossval = crossval.crossval(
            measured, models, scenario.judge.folds, scenario.run.seed,
            lambda part, total, text: report(part, total, text),
        )  # fmt: skip
    if measured and scenario.design.factor and done.methods:
        done.learning = _learn(scenario, measured, done.notes, report)
    traces = sorted((folder / "traces").glob("*.otlp"))
    if traces:
        done.trace = tracing.profile(traces)
    ordered = in_order(scenario, results)
    done.bottlenecks = bottlenecks.bottlenecks(ordered, folder / "traces")
    if done.bottlenecks:
        done.trace = trace_work.profile(bottlenecks.profiles(results, folder / "traces"))
    return done


def in_order(scenario: Scenario, results: Iterable[Result]) -> list[Result]:
    """Results as the scenario lists their configurations: they were measured in a drawn order."""
    # By what was varied: a run of an earlier version has other ids.
    places = {str(point.labels): place for place, point in enumerate(scenario.points())}
    return sorted(results, key=lambda one: places.get(str(one.labels), len(places)))


def _learn(scenario: Scenario, measured: Sequence[Result], notes: list[str], report: Report) -> Any:
    """What a designed sweep teaches; a note where it was too small for that."""
    # Statistics take seconds to import: only who asks for them waits.
    from dfslab.studies.learning import learn as study

    try:
        return study(scenario, measured, report)
    except RunFailed as error:
        notes.append(f"nothing was learnt from the factors: {error}")
        return None


def learn(scenario: Scenario, data: Path, page: Path | None, report: Report) -> Done:
    """Study runs that are there already: a run folder, or a table of runs."""
    if not scenario.design.factor:
        raise InputError("design.factor", None, "is empty: there is nothing to learn about")
    results = _measured_before(data, scenario)
    done = Done(scenario, data, results)
    done.comparison = compare(results)
    done.learning = _learn(scenario, results, done.notes, report)
    if page is not None:
        study = pages.ReportInput(scenario=scenario, results=results, comparison=None,
                                  learning=done.learning)  # fmt: skip
        pages.write(study, page)
    return done


def _measured_before(data: Path, scenario: Scenario) -> list[Result]:
    """The measurements of a run folder, or of a table of runs. InputError when it is neither."""
    if data.is_dir():
        return [r for r in reopen_results(data) if r.method == "measure"]
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
    results = reopen_results(data) if data.is_dir() else table.read(data, scenario)
    return propose(scenario, allowed, rows_of(results), about)


def export_runs(folder: Path, output: Path) -> int:
    """Write a run's measurements as a table of runs; how many there were."""
    if output.exists():
        raise InputError("--output", str(output), "exists already; dfslab does not overwrite it")
    return table.write(reopen_results(folder), output)


def reopen_results(folder: Path) -> list[Result]:
    """The results of a run folder. InputError when it is none."""
    if not (folder / "scenario.toml").exists():
        raise InputError("RUN", str(folder), "is no run folder: it has no scenario.toml")
    return store.load_results(folder)


def reopen(folder: Path) -> Done:
    """A run folder read back. InputError when it is none."""
    results = reopen_results(folder)
    scenario = read(folder / "scenario.toml")
    return _weigh(scenario, folder, results, lambda *_: None)


def export(folder: Path, form: str, output: Path | None) -> bytes:
    """A run's results in another program's form, also written to a new file where one is named."""
    if form not in exports.FORMS:
        raise InputError("--as", form, f"must be one of page, {', '.join(exports.FORMS)}")
    if output is not None and output.exists():
        raise InputError("--output", str(output), "exists already; dfslab does not overwrite it")
    if not (folder / "scenario.toml").exists():
        raise InputError("RUN", str(folder), "is no run folder: it has no scenario.toml")
    document = exports.FORMS[form](store.load_results(folder))
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


def merge_parts(files: Sequence[Path]) -> dict[str, Any]:
    """The report of a load from the files that its agents left on their nodes."""
    try:
        return fleet.of_parts([_part(path) for path in files])[0]
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
    study = pages.ReportInput(
        scenario=done.scenario,
        results=done.results,
        comparison=done.comparison,
        crossval=done.crossval or None,
        trace=done.trace,
        # Without models there is nothing that could tell what a change would do.
        advice=advice(done) if done.comparison is not None else [],
        learning=done.learning,
        operations=done.operations,
        verdicts=done.verdicts,
        server_law=done.server_law,
        bottlenecks=done.bottlenecks,
    )
    pages.write(study, path or done.page)
    return path or done.page


def advice(done: Done) -> list[Advice]:
    """The best change for every configuration that was measured."""
    measured = [r for r in done.results if r.method == "measure" and not r.point.held_out]
    if not measured:
        raise InputError("RUN", str(done.folder), "holds no measured result to learn from")
    calibration = calibrate(measured)
    found = []
    for point in _distinct_points(done.results)[:MOST_ADVISED]:
        found += advise(point, calibration, done.scenario.run.seed)[:1]
    return found


def _distinct_points(results: Sequence[Result]) -> list[Point]:
    return list({result.point_id: result.point for result in results}.values())


def predict(
    scenario: Scenario, method: str, fitted_on: Path | None, report: Report
) -> list[Result]:
    """Predictions of one method; learnt from a run folder where one is given."""
    model: Any = discover.method(method)
    if not hasattr(model, "fit"):
        raise InputError("--method", method, "measures; a model predicts")
    points = check(scenario.with_methods([method]))
    if fitted_on is not None:
        results = [r for r in reopen(fitted_on).results if r.method == "measure"]
        report(0, 1, f"learning from {len(results)} results")
        model.fit(results)
    predicted = []
    for index, point in enumerate(points):
        report(index, len(points), f"{method}: {terminal.labels_text(point.labels)}")
        predicted.append(model.run(point))
    return predicted


def fit_steps(folder: Path) -> list[step_functions.StepFunction]:
    """f1 to f7 of a run: a function of every measured step; held-out configurations unseen."""
    done = reopen(folder)
    return step_functions.fit([r for r in done.results if not r.point.held_out])


def expected(folder: Path) -> list[expectations.Verdict]:
    """What the description expected of a run before it, beside what was measured."""
    return _expected(reopen_results(folder))


def _expected(results: Sequence[Result]) -> list[expectations.Verdict]:
    return expectations.score(expectations.expectations(_distinct_points(results)), results)


def metadata_limits(
    scenario: Scenario, bound_s: float, burst_s: float | None, fitted_on: Path | None
) -> list[tuple[Point, metadata_server.Limits]]:
    """What the metadata server can take, for every distinct deployment and file system."""
    calibration = None
    if fitted_on is not None:
        calibration = calibrate([r for r in reopen(fitted_on).results if r.method == "measure"])
    lengths = metadata_server.BURSTS_S if burst_s is None else (burst_s,)
    found: dict[str, tuple[Point, metadata_server.Limits]] = {}
    for point in check(scenario):
        answer = metadata_server.limits(point.scenario, bound_s, calibration, lengths)
        found.setdefault(json.dumps(answer.document(), sort_keys=True), (point, answer))
    return list(found.values())
