"""A finished run: what the studies say of it, computed once and stored, then only read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from dfslab.cli import trace_work
from dfslab.instruments import trace as tracing
from dfslab.method import RunFailed
from dfslab.models.demand import calibrate
from dfslab.report import terminal
from dfslab.result import Result
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Point, Scenario, read
from dfslab.studies import (
    bottlenecks,
    crossval,
    expectations,
    findings,
    io500,
    operations,
    server_law,
    store,
    stored,
)
from dfslab.studies.advice import Advice
from dfslab.studies.advise import advise
from dfslab.studies.compare import Comparison, Score, compare
from dfslab.studies.findings import Findings
from dfslab.studies.lessons import Learning
from dfslab.studies.stages import ProcessorTime, Stages

Report = Callable[..., None]
Notify = Callable[[str], None]
Part = Literal["advice", "functions", "verdicts"]
VALIDATED = ("sequence", "regression", "mean")
INSTRUMENTS = ("measure", "trace")
# A design has hundreds of configurations, of which nobody reads the advice one by one.
MOST_ADVISED = 60
WHOLE_FILES_FROM_BYTES = 1_000_000
NOTHING_MEASURED = "holds no measured result to learn from"


class Done:
    """A finished run: its folder, results and what the studies say."""

    def __init__(
        self,
        scenario: Scenario,
        folder: Path,
        findings: Findings,
        results: list[Result] | None = None,
        processor_time: ProcessorTime | None = None,
    ) -> None:
        self.scenario, self.folder, self.findings = scenario, folder, findings
        self.processor_time = processor_time
        if results is not None:
            self.results = results

    @cached_property
    def results(self) -> list[Result]:
        """All results, read when they are asked for: stored findings need none."""
        return store.load_results(self.folder)

    @property
    def page(self) -> Path:
        """Where the page is."""
        return self.folder / "report.html"

    @property
    def methods(self) -> list[str]:
        """The predicting methods, in the scenario's order."""
        return predicting(self.scenario)

    @property
    def verdicts(self) -> list[expectations.Verdict]:
        """What came of expectations, where the run compares models and is no design."""
        is_compared = self.findings.comparison is not None and not self.scenario.design.factor
        return (self.findings.verdicts or []) if is_compared else []

    def document(self) -> dict[str, Any]:
        """The JSON of `run`: points, and scores of every model and baseline."""
        said = self.findings
        found: dict[str, Any] = {
            "scenario": self.scenario.name,
            "folder": str(self.folder),
            "page": str(self.page) if self.page.exists() else None,
            "notes": said.notes,
        }
        if self.processor_time is not None:
            found["processor_time"] = self.processor_time.model_dump(exclude_none=True)
        if whole := [one for one in said.io500 if one.score is not None]:
            found["io500"] = [one.model_dump() for one in whole]
        if said.comparison is None:
            found["results"] = [result.model_dump(mode="json") for result in self.results]
        if said.server_law is not None:
            found["server_law"] = said.server_law.model_dump(mode="json")
        if said.bottlenecks:
            found["bottlenecks"] = [
                one.model_dump(mode="json", exclude={"roots"}) for one in said.bottlenecks
            ]
        if said.comparison is not None:
            found.update(self._compared(said.comparison))
        return found

    def _compared(self, comparison: Comparison) -> dict[str, Any]:
        said = self.findings
        found = comparison.model_dump(mode="json")
        found["points"] = found.pop("rows")
        if said.operations is not None:
            found["held_out_by_step"] = {
                step: {method: score.model_dump() for method, score in scores.items()}
                for step, scores in said.operations.held_out.items()
            }
            found["noise_floor_by_step"] = {
                step: floor.model_dump() for step, floor in said.operations.floors.items()
            }
        if self.verdicts:
            found["expectations"] = expectations.tally(self.verdicts)
        found["cross_validated"] = {k: s.model_dump() for k, s in said.crossval.items()}
        if said.learning is not None:
            found["learning"] = said.learning.model_dump(
                mode="json", exclude={"validation": {"rows"}}
            )
        found["held_out_large_files"] = {k: s.model_dump() for k, s in said.large_files.items()}
        return found

    def tables(self) -> list[Any]:
        """What people see."""
        said = self.findings
        tables: list[Any]
        if said.bottlenecks:
            timed = [
                one for one in _settled(self.scenario, self.results) if one.method == "measure"
            ]
            tables = [terminal.result_table(timed)] if timed else []
            return [*tables, *terminal.bottleneck_tables(said.bottlenecks), *said.notes]
        if said.comparison is None:
            ordered = _settled(self.scenario, self.results)
            return [terminal.result_table(ordered), *said.notes]
        tables = [terminal.comparison_table(said.comparison, self.methods)]
        for title, scores in (
            ("Errors on held-out configurations", said.comparison.held_out),
            ("… of these, reads and writes of 1 MB and more", said.large_files),
            ("Errors in cross-validation over whole configurations", said.crossval),
        ):
            if scores:
                tables.append(terminal.score_table(title, scores))
        if said.learning is not None:
            tables += terminal.learning_tables(said.learning)
        return [*tables, *said.notes]


def predicting(scenario: Scenario) -> list[str]:
    """The methods of a scenario that predict, in its order."""
    return [m for m in scenario.run.methods if m not in INSTRUMENTS]


def weigh(
    scenario: Scenario, folder: Path, results: list[Result], report: Report, stages: Stages
) -> Findings:
    """What the studies say of a set of results."""
    results = _settled(scenario, results)
    measured = [result for result in results if result.method == "measure"]
    methods, designed = predicting(scenario), bool(scenario.design.factor)
    found = Findings(
        notes=list(dict.fromkeys(note for result in results for note in result.notes)),
        server_law=stages.timed("fitting", lambda: server_law.server_law(results)),
        io500=io500.scores(results),
    )
    if measured and methods:
        with stages.of("fitting"):
            found.comparison = compare(results)
            found.large_files = _large_files(found.comparison, results)
            found.operations = operations.operations(results)
            _add(found, scenario, results, "functions", "advice")
            if not designed:
                _add(found, scenario, results, "verdicts")
        report(0, 1, "cross-validating")
        with stages.of("cross_validating"):
            found.crossval = crossval.crossval(
                measured,
                [name for name in methods if name in VALIDATED],
                scenario.judge.folds,
                scenario.run.seed,
                report,
            )
    if measured and designed and methods:
        with stages.of("learning"):
            found.learning = studied(scenario, measured, found.notes, report)
    traces = sorted((folder / "traces").glob("*.otlp"))
    if traces:
        with stages.of("loading"):
            found.trace = tracing.profile(traces)
    found.bottlenecks = bottlenecks.bottlenecks(results, folder / "traces")
    if found.bottlenecks:
        found.trace = trace_work.profile(bottlenecks.profiles(results, folder / "traces"))
    return found


def _add(found: Findings, scenario: Scenario, results: Sequence[Result], *parts: Part) -> None:
    """Compute parts of the findings; why one cannot be is kept, so that nobody tries again."""
    for part in parts:
        try:
            if part == "advice":
                found.advice = _advice(scenario, results)
            elif part == "verdicts":
                found.verdicts = expected(results)
            else:
                known = found.operations.functions if found.operations else []
                found.functions = known or operations.functions(results)
        except RunFailed as error:
            found.refused[part] = str(error)


def _advice(scenario: Scenario, results: Sequence[Result]) -> list[Advice]:
    """The best change for every configuration that was measured."""
    measured = [r for r in results if r.method == "measure" and not r.point.held_out]
    if not measured:
        raise RunFailed(NOTHING_MEASURED)
    calibration = calibrate(measured)
    found = []
    for point in _distinct_points(results)[:MOST_ADVISED]:
        found += advise(point, calibration, scenario.run.seed)[:1]
    return found


def expected(results: Sequence[Result]) -> list[expectations.Verdict]:
    """What the description expected of a run before it, compared with what was measured."""
    return expectations.score(expectations.expectations(_distinct_points(results)), results)


def _distinct_points(results: Sequence[Result]) -> list[Point]:
    return list({result.point_id: result.point for result in results}.values())


def _large_files(comparison: Comparison, results: Sequence[Result]) -> dict[str, Score]:
    """Scores on held-out reads and writes of at least 1 MB."""
    sizes = {r.point_id: _file_bytes(r) for r in results if r.method == "measure"}
    rows = [
        row
        for row in comparison.rows
        if row.held_out
        and set(row.operations) <= {"read", "write"}
        and sizes.get(row.point_id, 0) >= WHOLE_FILES_FROM_BYTES
    ]
    return comparison.scores(rows)


def _file_bytes(result: Result) -> float:
    throughput = result.metrics.get("throughput_bytes_per_s")
    return throughput.value / result.value() if throughput and result.value() else 0.0


def studied(
    scenario: Scenario, measured: Sequence[Result], notes: list[str], report: Report
) -> Learning | None:
    """What a designed sweep teaches; a note where it was too small for that."""
    # Statistics take seconds to import: only who asks for them waits.
    from dfslab.studies.learning import learn as study

    try:
        return study(scenario, measured, report)
    except RunFailed as error:
        notes.append(f"nothing was learnt from the factors: {error}")
        return None


def in_order(scenario: Scenario, results: Iterable[Result]) -> list[Result]:
    """Results as the scenario lists their configurations: they were measured in a drawn order."""
    # By what was varied: a run of an earlier version has other ids.
    places = {str(point.labels): place for place, point in enumerate(scenario.points())}
    return sorted(results, key=lambda one: places.get(str(one.labels), len(places)))


def _settled(scenario: Scenario, results: Iterable[Result]) -> list[Result]:
    """Results in one order, whether they come from a sweep or from files: sums of floats, and the
    order of rows, depend on it."""
    methods = {name: place for place, name in enumerate(scenario.run.methods)}
    return in_order(
        scenario,
        sorted(
            results,
            key=lambda one: (methods.get(one.method, len(methods)), one.method, one.repetition),
        ),
    )


def reopen(folder: Path, notify: Notify, *parts: Part) -> Done:
    """A run folder read back, with these parts of its findings. InputError when it is none.

    Nothing is fitted where the findings are stored for these very results; else it is done once,
    and one line says so.
    """
    store.check_folder(folder)
    # Before the results are read: one that comes meanwhile must not pass for computed.
    inputs = stored.inputs_hash(folder)
    known, reason = findings.load(folder, inputs)
    scenario = read(folder / "scenario.toml")
    if known is None:
        notify(f"{folder}: {reason}; computing them once")
        results = store.load_results(folder)
        known = weigh(scenario, folder, results, lambda *_: None, Stages())
        done = Done(scenario, folder, known, results)
    else:
        done = Done(scenario, folder, known)
        if not _lacking(known, parts):
            return _allowed(done, parts)
        notify(f"{folder}: {' and '.join(_lacking(known, parts))} not stored; computing once")
    _add(known, scenario, _settled(scenario, done.results), *_lacking(known, parts))
    findings.save(folder, inputs, known)
    return _allowed(done, parts)


def _lacking(known: Findings, parts: Sequence[Part]) -> list[Part]:
    there: dict[Part, object] = {
        "advice": known.advice,
        "functions": known.functions,
        "verdicts": known.verdicts,
    }
    return [part for part in parts if there[part] is None and part not in known.refused]


def _allowed(done: Done, parts: Sequence[Part]) -> Done:
    """The run, if all these parts could be computed; else RunFailed with the reason."""
    for part in parts:
        reason = done.findings.refused.get(part)
        if reason == NOTHING_MEASURED:
            raise InputError("RUN", str(done.folder), reason)
        if reason is not None:
            raise RunFailed(f"{done.folder}: {reason}")
    return done
