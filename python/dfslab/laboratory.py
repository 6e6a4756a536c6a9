"""The laboratory: plans a run, measures it, applies studies and writes the findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dfslab import discover
from dfslab.instruments import access, command
from dfslab.lazily import lazily
from dfslab.method import Method, RunFailed
from dfslab.report import document
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.spec.files.outputs import Output, new_file
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Point, Scenario, read
from dfslab.studies import contract, findings
from dfslab.studies.compare import compare
from dfslab.studies.contract import (
    NOTHING_MEASURED,
    Findings,
    FinishedRun,
    Progress,
    Study,
    StudyResult,
)
from dfslab.studies.designs import design as designs
from dfslab.studies.designs.lessons import Learning
from dfslab.studies.learn import LearningStudy
from dfslab.studies.runs import completeness, result_file, store, stored, table
from dfslab.studies.runs.stages import Stages, processor_s
from dfslab.studies.runs.store import Store
from dfslab.studies.runs.sweep import sweep

if TYPE_CHECKING:
    from dfslab.fleet.watch import Watch
    from dfslab.report import page as pages
else:
    pages = lazily("dfslab.report.page")

Notify = Callable[[str], None]


def quiet(done: float, total: float, text: str, /, *remaining_s: float) -> None:
    """A progress callback that does nothing."""


@dataclass(frozen=True)
class Plan:
    """The plan of a run: its configurations and the methods applied to each.

    `measured`: instruments that access the real system, none if recorded runs are used. The
    operations of the first measured run are written to a new file, `recording`.
    """

    scenario: Scenario
    points: Sequence[Point]
    methods: Sequence[Method]
    measured: Sequence[str]
    recording: Path | None = None


class Laboratory:
    """Implements the commands; `run` consists of `plan`, `measure`, `weigh` and `write`."""

    def __init__(
        self,
        progress: Progress = quiet,
        watch: Watch | None = None,
        clock: Callable[[], float] = processor_s,
    ) -> None:
        """`watch` sees loads second by second; `clock` gives the processor seconds of stages."""
        self.progress, self._watch, self._clock = progress, watch, clock

    def run(
        self, plan: Plan, out: Path, fresh: bool = False, always_page: bool = False
    ) -> FinishedRun:
        """A whole run; nothing is created before the file system answers.

        An unfinished run of the same scenario below `out` is resumed, unless `fresh`. The page is
        written where a study found something, or always.
        """
        stages = Stages(self._clock)
        with self.session() as session:
            if plan.measured and not plan.scenario.design.factor:
                self._reach(plan, session, stages)
            opened = store.open_run(plan.scenario, out, fresh=fresh)
            with opened.locked():
                results = self.measure(plan, opened, session, stages)
                inputs = stored.inputs_hash(opened.folder)
                finished = FinishedRun(plan.scenario, results, folder=opened.folder)
                self.weigh(finished, stages)
                findings.save(opened.folder, inputs, finished.findings)
                self.write(finished, opened, always_page, stages)
        return finished

    def plan(
        self, scenario: Scenario, recording: Path | None = None, recorded: Path | None = None
    ) -> Plan:
        """What a run of a scenario will do. InputError where it cannot.

        With `recorded`, a run folder or a table of runs, nothing is measured: its runs stand for
        the measurements.
        """
        _check_recording(recording)
        self.progress(0, 1, "planning")
        scenario = designs.planned(scenario)
        known = None
        if recorded is not None:
            known = table.Recorded(measured_before(recorded, scenario))
            requested = scenario.run.methods
            scenario = scenario.with_methods(
                [m for m in requested if m == known.name or not discover.is_instrument(m)]
            )
            scenario = scenario.with_overrides({"run.repetitions": known.repetitions})
        points = check(scenario)
        measured = [m for m in scenario.run.methods if discover.is_instrument(m)]
        methods = [
            known if known is not None and name == known.name else discover.method(name)
            for name in scenario.run.methods
        ]
        return Plan(scenario, points, methods, [] if known is not None else measured, recording)

    @contextmanager
    def session(self) -> Iterator[access.Session]:
        """An access session, shared by all methods of a run."""
        with access.session(notify=lambda text: self.progress(0, 1, text)) as session:
            session.watch = self._watch
            yield session

    def _reach(self, plan: Plan, session: access.Session, stages: Stages) -> None:
        """Check that the file system of the first configuration is reachable."""
        for point in plan.points:
            command.expect(point)
        session.traced = plan.measured[0] == "trace" and command.is_command(plan.points[0])
        with stages.of("loading"):
            session.reach(plan.points[0].scenario)

    def measure(
        self, plan: Plan, opened: Store, session: access.Session, stages: Stages
    ) -> list[Result]:
        """Every method's results at every configuration, also on disk. RunFailed without any."""
        session.trace_directory = opened.folder / "traces"
        session.recording = plan.recording
        methods = [
            method.within(session) if isinstance(method, access.InSession) else method
            for method in plan.methods
        ]
        results = sweep(plan.scenario, methods, opened, self.progress, stages)
        if session.recording is not None:
            allowed = "all runs were there already; --fresh runs them again"
            raise InputError("--record", str(plan.recording), allowed)
        if any(discover.is_instrument(name) for name in plan.scenario.run.methods):
            # Processor time of daemons and clients that end here is counted here.
            with stages.of("loading"):
                session.close()
        return results

    def weigh(self, run: FinishedRun, stages: Stages | None = None) -> Findings:
        """Run every study whose needs are met, and add the findings to the run."""
        stages, answers = stages or Stages(self._clock), run.findings
        if warning := completeness.warning(run.results):
            answers.notes.append(warning)
        answers.notes += dict.fromkeys(note for result in run.settled for note in result.notes)
        for study in contract.all_studies():
            if study.needs.are_met(run):
                self._ask(study, run, stages)
        return answers

    def _ask(self, study: Study[StudyResult], run: FinishedRun, stages: Stages) -> None:
        """Add one study's result, or store the reason of its failure to avoid a retry."""
        try:
            found = stages.timed(study.stage, lambda: study.run(run, self.progress))
        except RunFailed as error:
            run.findings.refused[study.name] = str(error)
            if study.refused:
                run.findings.notes.append(f"{study.refused}: {error}")
            return
        if found is not None:
            run.findings.add(found)

    def write(
        self, run: FinishedRun, opened: Store, always_page: bool, stages: Stages
    ) -> FinishedRun:
        """The page, the summary and the table of results; then the folder is complete."""
        if always_page or any(one.is_worth_a_page for one in run.findings.found.values()):
            with stages.of("page"):
                pages.write(run)
        run.processor_time = stages.spent
        run.findings.notes += opened.finish(document.of(run))
        return run

    def learn(self, scenario: Scenario, data: Path, page: Output | None = None) -> FinishedRun:
        """Apply studies to existing runs: a run folder, or a table of runs.

        The findings are also written to `page`, if given.
        """
        if not scenario.design.factor:
            raise InputError("design.factor", None, "is empty: there is nothing to learn about")
        if page is not None:
            page.check([data])
        results = measured_before(data, scenario)
        run = FinishedRun(scenario, results, Findings.of(compare(results)), data)
        self._ask(LearningStudy(), run, Stages(self._clock))
        if page is not None:
            taught = Findings.of(run.find(Learning))
            pages.write(FinishedRun(scenario, results, taught, data), page)
        return run

    def reopen(self, folder: Path, notify: Notify, *kinds: type[StudyResult]) -> FinishedRun:
        """A run folder read back, with what these studies found. InputError when it is none.

        Nothing is computed where the findings are stored for these very results; else it is done
        once, and one line says so. RunFailed where one of the studies cannot say anything.
        """
        store.check_folder(folder)
        if earlier := result_file.number_of_earlier_format(folder):
            stated = f"results without a checksum: {earlier}; an earlier version wrote them"
            notify(f"{folder}: {stated}")
        # Hash before reading, so that a result added meanwhile invalidates the findings.
        inputs = stored.inputs_hash(folder)
        known, reason = findings.load(folder, inputs)
        run = FinishedRun(read(folder / "scenario.toml"), findings=known, folder=folder)
        if known is None:
            notify(f"{folder}: {reason}; computing them once")
            self.weigh(run)
        elif lacking := _lacking(run, kinds):
            names = " and ".join(kind.study for kind in lacking)
            notify(f"{folder}: {names} not stored; computing once")
        else:
            return _allowed(run, kinds)
        for kind in _lacking(run, kinds):
            self._ask(contract.find(kind.study), run, Stages(self._clock))
        findings.save(folder, inputs, run.findings)
        return _allowed(run, kinds)


def _lacking(run: FinishedRun, kinds: Sequence[type[StudyResult]]) -> list[type[StudyResult]]:
    return [
        kind for kind in kinds if run.find(kind) is None and kind.study not in run.findings.refused
    ]


def _allowed(run: FinishedRun, kinds: Sequence[type[StudyResult]]) -> FinishedRun:
    """The run, if all these studies could answer; else RunFailed with the reason."""
    for reason in contract.refusals(run, kinds):
        if reason == NOTHING_MEASURED:
            raise InputError("RUN", str(run.folder), reason)
        raise RunFailed(f"{run.folder}: {reason}")
    return run


def _check_recording(path: Path | None) -> None:
    if path is not None:
        new_file("--record", path)


def measured_before(data: Path, scenario: Scenario) -> list[Result]:
    """The measurements of a run folder, or of a table of runs. InputError when it is neither."""
    if data.is_dir():
        return [r for r in store.results_of(data) if r.method == "measure"]
    return table.read(data, scenario)


def write_page(run: FinishedRun, output: Output | None = None) -> Path:
    """The page of a run, in its folder or as a file that a user names."""
    pages.write(run, output)
    return run.page if output is None else output.path
