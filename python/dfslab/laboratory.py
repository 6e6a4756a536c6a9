"""The laboratory, which plans a run, measures, applies studies (analyses of the results), and
writes what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from dfslab import discover
from dfslab.fleet.live_log import LiveLog
from dfslab.instruments import access, external_program
from dfslab.instruments.contract import MeasurementOptions, RunMethod, run_method
from dfslab.instruments.room import check_places
from dfslab.method import MEASURE, RunFailed
from dfslab.notify import Notify, silent
from dfslab.report import run_document
from dfslab.report.answers.result_notes import result_notes
from dfslab.result import Result
from dfslab.spec.check import checked
from dfslab.spec.files.outputs import Output, check_folder, new_file
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies import contract
from dfslab.studies.checks import rule
from dfslab.studies.compare import compare
from dfslab.studies.contract import (
    Findings,
    FinishedRun,
    Progress,
    Study,
    StudyResult,
    silent_progress,
)
from dfslab.studies.decisions.comparing.paired_runs import check_comparable
from dfslab.studies.designs import design_plan as designs
from dfslab.studies.designs import run_duration
from dfslab.studies.designs.lessons import Learning
from dfslab.studies.learn import LearningStudy
from dfslab.studies.runs import completeness, csv_runs, findings, progress_kept, store, stored
from dfslab.studies.runs.records import result_file
from dfslab.studies.runs.stages import Stages, processor_s
from dfslab.studies.runs.store import Store
from dfslab.studies.runs.sweep import (
    SweepPlan,
    measure_alternately,
    missing_measurements,
    resumption,
    sweep,
)

if TYPE_CHECKING:
    from dfslab.fleet.shards import ProgressReport
    from dfslab.fleet.watch import Watch


@dataclass(frozen=True)
class RunPlan:
    """The plan of a run: its configurations, and the methods that are applied to each.

    - `measured`: names of the instruments that measure the real system; empty if recorded runs
      replace the measurements.
    - `recording`: new file for the operations of the first measured run.
    - `left_out`: notes on configurations that are not run, because their file system does not
      support them.
    """

    scenario: Scenario
    points: Sequence[Point]
    methods: Sequence[RunMethod]
    measured: Sequence[str]
    recording: Path | None = None
    left_out: Sequence[str] = ()

    @property
    def jobs(self) -> int:
        """The number of measurements. Only the instrument `measure` repeats its measurements."""
        repeated = self.scenario.run.repetitions if MEASURE in self.measured else 0
        others = sum(name != MEASURE for name in self.measured)
        return len(self.points) * (repeated + others)

    @cached_property
    def job_s(self) -> float | None:
        """The expected mean duration of a measurement in seconds; None if it is not known, or if
        nothing is measured."""
        return run_duration.mean_job_s(self.points, self.jobs) if self.jobs else None


class Laboratory:
    """Plans and executes runs for the commands.

    The method `run` executes a plan in three steps: `measure` applies the methods, `weigh` applies
    the studies, and `write` writes the results.
    """

    def __init__(
        self,
        progress: Progress = silent_progress,
        watch: Watch | None = None,
        clock: Callable[[], float] = processor_s,
        notify: Notify = silent,
    ) -> None:
        """Constructs a laboratory.

        - `progress` receives the progress of all work.
        - `watch` receives the live values of workload runs each second.
        - `clock` returns the processor time in seconds.
        - `notify` receives a sentence when an unfinished run is resumed.
        """
        self.progress, self._watch, self._clock = progress, watch, clock
        self._notify = notify
        # The live logs of the runs that are executed at present.
        self._logs: list[LiveLog] = []

    def run(
        self, plan: RunPlan, out: Path, fresh: bool = False, always_page: bool = False
    ) -> FinishedRun:
        """Executes a whole run in a folder below `out` and returns the finished run.

        - First, checks that folders can be made in `out`. The run's folder is created only after
          the file system has answered.
        - An unfinished run of the same scenario in `out` is resumed, unless `fresh` is true.
        - The page is written if `always_page` is true, or if a study has findings that need a page.
        """
        check_folder("--out", out, plan.scenario.name)
        stages = Stages(self._clock)
        with self.session() as session:
            if plan.measured and not plan.scenario.design.factor:
                _check_programs(plan)
                before = None if fresh else store.unfinished(plan.scenario, out)
                left_s = [] if plan.job_s is None else [plan.job_s * _missing(plan, before)]
                self._report(0, 1, "reaching the file system", *left_s)
                self._reach(plan, session, stages)
            opened = store.open_run(plan.scenario, out, fresh=fresh)
            with opened.locked(), self._logged(plan, opened.folder) as options:
                self._notify(resumption(plan.scenario, plan.methods, opened))
                with progress_kept.reported(plan.scenario, plan.methods, opened, self._notify):
                    return self._finished(plan, opened, session, options, stages, always_page)

    def _finished(
        self,
        plan: RunPlan,
        opened: Store,
        session: access.InstrumentSession,
        options: MeasurementOptions,
        stages: Stages,
        always_page: bool,
    ) -> FinishedRun:
        """Measures what is missing in an open run folder, applies the studies, and writes the
        results."""
        results = self.measure(plan, opened, session, options, stages)
        inputs = stored.inputs_hash(opened.folder)
        finished = FinishedRun(plan.scenario, results, folder=opened.folder)
        finished.findings.notes += plan.left_out
        self.weigh(finished, stages)
        self.write(finished, opened, inputs, always_page, stages)
        return finished

    def run_against(
        self, plans: tuple[RunPlan, RunPlan], out: Path, fresh: bool = False
    ) -> tuple[FinishedRun, FinishedRun]:
        """Executes two runs and returns both finished runs. Their measurements alternate, so that a
        slow drift of the machine affects both runs equally.

        The first run's folder is below `out`. The second run's folder is below `out/against` if
        both scenarios are equal, else below `out`. Raises InputError if the runs cannot be compared
        (`paired_runs.check_comparable`).
        """
        first, second = plans
        check_comparable(first.scenario, second.scenario)
        for plan in plans:
            check_folder("--out", out, plan.scenario.name)
        stages = Stages(self._clock)
        is_same = first.scenario.toml() == second.scenario.toml()
        with self.session() as session, ExitStack() as locks:
            for plan in plans:
                _check_programs(plan)
            # A session has one testbed at a time, so starting a testbed stops the other testbed.
            # The first run's testbed is started last, because the measurements begin with the first
            # run.
            for plan in (second, first):
                self._reach(plan, session, stages)
            folders = (out, out / "against" if is_same else out)
            opened = [
                store.open_run(plan.scenario, folder, fresh=fresh)
                for plan, folder in zip(plans, folders, strict=True)
            ]
            options: list[MeasurementOptions] = []
            for plan, one in zip(plans, opened, strict=True):
                locks.enter_context(one.locked())
                options.append(locks.enter_context(self._logged(plan, one.folder)))
                self._notify(resumption(plan.scenario, plan.methods, one))
            with stages.of("loading"):
                measure_alternately(
                    [
                        _sweep_plan(plan, one, session, own)
                        for plan, one, own in zip(plans, opened, options, strict=True)
                    ],
                    self._report,
                )
            done = [
                self._finished(plan, one, session, own, stages, True)
                for plan, one, own in zip(plans, opened, options, strict=True)
            ]
        return done[0], done[1]

    def plan(
        self, scenario: Scenario, recording: Path | None = None, recorded: Path | None = None
    ) -> RunPlan:
        """Plans a run of a scenario. Raises InputError if the scenario cannot be run, and
        DiscoveryError if a member outside this package that the run needs is wrong.

        - `recording`: new file for the operations of the first measured run.
        - `recorded`: a run folder or a table of runs, whose results are used instead of
          measurements.
        """
        _check_recording(recording)
        self.progress(0, 1, "planning")
        _check_members()
        scenario = designs.planned(scenario)
        known = None
        if recorded is not None:
            known = csv_runs.Recorded(measured_before(recorded, scenario))
            requested = scenario.run.methods
            scenario = scenario.with_methods(
                [m for m in requested if m == known.name or not discover.is_instrument(m)]
            )
            scenario = scenario.with_overrides({"run.repetitions": known.repetitions})
        points, left_out = checked(scenario)
        if left_out:
            scenario = scenario.with_rows([point.labels for point in points])
        measured = [m for m in scenario.run.methods if discover.is_instrument(m) and not known]
        check_places(points if measured else ())
        methods = [
            known if known is not None and name == known.name else run_method(discover.method(name))
            for name in scenario.run.methods
        ]
        return RunPlan(scenario, points, methods, measured, recording, left_out)

    @contextmanager
    def session(self) -> Iterator[access.InstrumentSession]:
        """A context with a session, through which all methods of a run share the access to the file
        system."""
        with access.session(partial(self._report, 0, 1)) as session:
            yield session

    def options(self, progress: ProgressReport) -> MeasurementOptions:
        """Returns the options of measurements that have no run folder.

        `progress` receives two values for each measured run: the finished proportion (0 to 1) and
        the current phase.
        """
        return MeasurementOptions(progress=progress, watch=self._watch)

    @contextmanager
    def _logged(self, plan: RunPlan, folder: Path) -> Iterator[MeasurementOptions]:
        """Returns a context that yields the options of a run's measurements. These write traces to
        the run's folder.

        During the context, a file in the run's folder records the progress of the run and the rates
        of the load generator. `dfslab serve` shows this file.
        """
        log = LiveLog()
        watch = log.watched(self._watch)
        log.open(folder)
        self._logs.append(log)
        try:
            yield MeasurementOptions(plan.recording, trace_directory=folder / "traces", watch=watch)
        finally:
            self._logs.remove(log)
            log.close()

    def _report(self, done: float, total: float, text: str, /, *remaining_s: float) -> None:
        for log in self._logs:
            log.progress(done, total, text)
        self.progress(done, total, text, *remaining_s)

    def _reach(self, plan: RunPlan, session: access.InstrumentSession, stages: Stages) -> None:
        """Checks that the file system of the first configuration can be accessed. If this
        configuration uses a testbed, starts the testbed.
        """
        with stages.of("loading"):
            session.reach(plan.points[0].scenario, counts_calls=_is_traced_command(plan))

    def measure(
        self,
        plan: RunPlan,
        opened: Store,
        session: access.InstrumentSession,
        options: MeasurementOptions,
        stages: Stages,
    ) -> list[Result]:
        """Applies every method to every configuration. Returns the results, and stores them in the
        run's folder. Raises RunFailed if no run succeeds.
        """
        chosen = _sweep_plan(plan, opened, session, options)
        results = sweep(chosen, self._report, stages, plan.job_s)
        if plan.recording is not None and not plan.recording.exists():
            allowed = "all runs are stored already; --fresh runs them again"
            raise InputError("--record", str(plan.recording), allowed)
        if any(discover.is_instrument(name) for name in plan.scenario.run.methods):
            # Daemons and clients are child processes. Their processor time is known only after they
            # have ended, so closing the session is a part of a stage: "loading".
            with stages.of("loading"):
                session.close()
        return results

    def weigh(self, run: FinishedRun, stages: Stages | None = None) -> Findings:
        """Applies every study whose preconditions the run meets.

        The findings are added to `run` and returned.
        """
        stages, answers = stages or Stages(self._clock), run.findings
        if warning := completeness.warning(run.results):
            answers.notes.append(warning)
        answers.notes += result_notes(run.settled)
        for study in contract.all_studies():
            if study.needs.are_met(run):
                self._report(1, 1, f"analysing the results: {study.name.replace('_', ' ')}")
                self._ask(study, run, stages)
        return answers

    def _ask(self, study: Study[StudyResult], run: FinishedRun, stages: Stages) -> None:
        """Runs one study and adds its result to the run. If the study raises RunFailed, the reason
        is stored instead, so that the study is not run again.

        The same is done if a member outside this package raises any exception. Its file and line
        are then a part of the reason, and the other studies run on.
        """
        try:
            found = stages.timed(study.stage, lambda: study.run(run, self.progress))
            if contract.is_outside(study):
                contract.check_result(study, found, run)
        except RunFailed as error:
            run.findings.refused[study.name] = str(error)
            if study.refused:
                run.findings.notes.append(f"{study.refused}: {error}")
            return
        except Exception as error:
            reason = contract.failure(study, error)
            if reason is None:
                raise
            run.findings.refused[study.name] = reason
            run.findings.notes.append(f"the study {study.name} failed: {reason}")
            return
        if found is not None:
            run.findings.add(found)

    def write(
        self, run: FinishedRun, opened: Store, inputs: str, always_page: bool, stages: Stages
    ) -> None:
        """Writes the table of results, the findings, the page and the summary. Then marks the
        folder of the run complete.

        `inputs` is the hash of the data from which the findings were computed. The order of the
        steps matters: the table adds notes, which are part of the findings, and writing the page
        adds processor time, which is part of the summary.
        """
        table = opened.write_table()
        run.findings.notes += table.notes
        findings.save(opened.folder, inputs, run.findings)
        if always_page or any(one.is_worth_a_page for one in run.findings.found.values()):
            self._report(1, 1, "writing the page")
            with stages.of("page"):
                from dfslab.report import page as pages

                pages.write(run)
        run.processor_time = stages.spent
        opened.finish(run_document.of(run), table)

    def learn(self, scenario: Scenario, data: Path, page: Output | None = None) -> FinishedRun:
        """Analyses existing runs of a scenario that declares an experimental design.

        `data` is a run folder or a table of runs. If `page` is given, the page is also written to
        `page`.
        """
        if not scenario.design.factor:
            raise InputError("design.factor", None, "is empty: name factors in [[design.factor]]")
        if page is not None:
            page.check([data])
        results = measured_before(data, scenario)
        run = FinishedRun(scenario, results, Findings.of(compare(results)), data)
        self._ask(LearningStudy(), run, Stages(self._clock))
        if page is not None:
            taught = Findings.of(run.find(Learning))
            from dfslab.report import page as pages

            pages.write(FinishedRun(scenario, results, taught, data), page)
        return run

    def reopen(self, folder: Path, notify: Notify, *kinds: type[StudyResult]) -> FinishedRun:
        """Reads a finished run from its folder, with the findings of the studies that `kinds`
        selects by their result types.

        Stored findings are used if they were computed from the present results. Missing or outdated
        findings are computed again. `notify` receives a line that reports this, and a line if the
        run is unfinished. Raises InputError if `folder` is no run folder, and RunFailed if one of
        the selected studies fails.
        """
        store.check_folder(folder)
        if earlier := result_file.number_without_checksum(folder):
            stated = f"results without a checksum: {earlier}; an earlier version wrote them"
            notify(f"{folder}: {stated}")
        # The hash of the results is computed before the results are read. If a result is stored in
        # between, the hash is that of the older results, so the findings will count as outdated.
        inputs = stored.inputs_hash(folder)
        known, reason = findings.load(folder, inputs)
        run = progress_kept.reopened(folder, known, notify)
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


def _check_members() -> None:
    """Loads the studies, rules and sections outside this package, which are needed only after the
    measurements. Raises DiscoveryError if one violates the interface of its type. The members of
    this package are not loaded, because tests check them."""
    if discover.outside(discover.STUDIES):
        contract.all_studies()
    if discover.outside(discover.RULES):
        rule.rules()
    for name in discover.outside(discover.SECTIONS):
        from dfslab.report.contract import page_section

        page_section(name)


def _sweep_plan(
    plan: RunPlan, opened: Store, session: access.InstrumentSession, options: MeasurementOptions
) -> SweepPlan:
    return SweepPlan(plan.scenario, plan.methods, opened, session, options)


def _check_programs(plan: RunPlan) -> None:
    """Checks that the programs which configurations name by a path exist."""
    for point in plan.points:
        external_program.expect(point)


def _is_traced_command(plan: RunPlan) -> bool:
    """Returns whether the first method of a plan traces an external program."""
    return plan.measured[0] == "trace" and external_program.is_command(plan.points[0])


def _lacking(run: FinishedRun, kinds: Sequence[type[StudyResult]]) -> list[type[StudyResult]]:
    return [
        kind for kind in kinds if run.find(kind) is None and kind.study not in run.findings.refused
    ]


def _allowed(run: FinishedRun, kinds: Sequence[type[StudyResult]]) -> FinishedRun:
    """Returns the run unchanged if the studies with the result types `kinds` have succeeded.
    Otherwise raises RunFailed with the reason why a study failed.
    """
    for reason in contract.refusals(run, kinds):
        raise RunFailed(f"{run.folder}: {reason}")
    return run


def _check_recording(path: Path | None) -> None:
    if path is not None:
        new_file("--record", path)


def _missing(plan: RunPlan, before: Store | None) -> int:
    """Returns the number of measurements that a run still has to make. `before` has the stored
    results of the unfinished run that is resumed. `before` is None if no run is resumed."""
    if before is None:
        return plan.jobs
    return missing_measurements(plan.scenario, plan.methods, before)


def measured_before(data: Path, scenario: Scenario) -> list[Result]:
    """Returns the measurements in a run folder or in a table of runs; else raises InputError."""
    if data.is_dir():
        return [r for r in store.results_of(data) if r.method == MEASURE]
    return csv_runs.read(data, scenario)


def write_page(run: FinishedRun, output: Output | None = None) -> Path:
    """Writes the page of a run and returns its path. The page is written to `output`, or to the
    run's folder if `output` is None.
    """
    from dfslab.report import page as pages

    pages.write(run, output)
    return run.page if output is None else output.path
