"""The method "measure", which runs the load generator on the real file system and reports its
results."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dfslab import discover
from dfslab.documents import metrics as metric
from dfslab.documents.load_report import LoadReport, Summary
from dfslab.documents.measured_load import CallCounts, FaultReport, FleetLoadReport, MeasuredLoad
from dfslab.fleet import run as fleet
from dfslab.fleet.client_hosts import ClientHost, Nodes
from dfslab.fleet.shards import LoadFailed, LoadRun, ProgressReport, Spans, WrongPlan, unanswered
from dfslab.fleet.watch import Watch
from dfslab.instruments import access, call_counts, external_program
from dfslab.instruments.contract import NO_OPTIONS, MeasurementOptions
from dfslab.instruments.measuring import cold, recovery
from dfslab.instruments.measuring.disturbance import MachineWatch
from dfslab.instruments.measuring.faults import Conductor, quietly
from dfslab.instruments.measuring.measured_load_of import measured_load
from dfslab.instruments.measuring.warm_up import shares_vary, warm_up_once, where
from dfslab.method import MEASURE, RunFailed
from dfslab.result import Metric, Result, Step, provenance
from dfslab.spec.files.outputs import Output
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario
from dfslab.spec.streams.plan import LoadPlan, PlanChanges, Verify
from dfslab.spec.streams.stream import stream_spec
from dfslab.spec.streams.target import FileTarget

NAMES = ("measure",)
ANY_NUMBER = 2**62
UNVERIFIED = (
    'unverified: the content of files was not compared with what was written (run.verify = "none")'
)


@dataclass(frozen=True)
class Measured:
    """One measured run.

    The object has the load generator's report, the part of the result that describes the run, and
    the spans if the run recorded any. `complete` is true if no operation failed, no client was
    lost, and no time limit ended the run.
    """

    report: FleetLoadReport
    load: MeasuredLoad
    spans: Spans
    complete: bool


def make(name: str) -> Measure:
    """Returns the instrument `measure`; discovery of methods calls this function."""
    return Measure()


class Measure:
    """Runs a configuration's operation stream once with the load generator and measures it."""

    name = MEASURE

    def run(
        self,
        point: Point,
        session: access.InstrumentSession,
        repetition: int = 0,
        options: MeasurementOptions = NO_OPTIONS,
    ) -> Result:
        """Measures a configuration once.

        Raises InputError if the target cannot run the workload, and RunFailed if the run fails.
        """
        if external_program.is_command(point):
            return external_program.measured(point, session, repetition, options)
        measured = _under_faults(point, session, repetition, options)
        return to_result(self.name, point, repetition, measured, session)


def _under_faults(
    point: Point, session: access.InstrumentSession, repetition: int, options: MeasurementOptions
) -> Measured:
    """Runs the workload once. During the run, the scenario's faults are injected on the testbed."""
    run = point.scenario.run
    if not run.fault:
        return run_load(point, session, repetition, options)
    session.reach(point.scenario)
    conductor = Conductor(session.running_testbed, run.fault)
    # Operations may fail under faults. Any number of failed operations is allowed, unless the
    # scenario limits it (`run.max_errors`). Acknowledged data is audited after the timed part.
    changes: PlanChanges = {"max_errors": run.max_errors or ANY_NUMBER, "verify": "after"}
    try:
        return run_load(point, session, repetition, options, changes, conductor)
    except BaseException:
        quietly(conductor)
        raise


def run_load(
    point: Point,
    session: access.InstrumentSession,
    repetition: int = 0,
    options: MeasurementOptions = NO_OPTIONS,
    changes: PlanChanges | None = None,
    conductor: Conductor | None = None,
) -> Measured:
    """Runs the load generator once, and reads all counters. `changes` replaces entries of the load
    plan.

    `conductor` injects faults during the run. At the end of the run, the conductor is closed and
    undoes its faults, so that the testbed is healthy again.
    """
    run = point.scenario.run
    target = session.target(point.scenario)
    # The processor score (speed of a processor) of each host is measured only if the configurations
    # have different processor shares, because this takes seconds. The score is measured before the
    # daemons run, because their JIT compilation would use the same processor share.
    scores = session.testbed.scores if session.testbed is not None and shares_vary(point) else None
    warm_up_once(point, target, session, options.progress)
    disks = _cold_disks(point, session)
    # `barrier_after_phases` adds a barrier after each phase, so that the disk counters can be read
    # before later work, such as checking caches or removing files, reads the disks as well.
    plan = load_plan(point, repetition, target, records=options.record is not None).model_copy(
        update={**(changes or {}), "barrier_after_phases": disks is not None}
    )
    # An experimental design has hundreds of runs, of which only the rates are used. Reading the
    # daemons' counters would take as long as a run, so it is skipped.
    observed = None if point.scenario.design.factor else session.testbed
    if observed is not None:
        observed.observe()  # discards the counts from before this run
    hosts = session.client_hosts(point.scenario)
    machine = MachineWatch(session.server_processes())
    before = machine.moment()
    done = _run(plan, hosts, point, session, _listeners(options, conductor, disks))
    during = machine.since(before)
    report = done.report
    reads = disks.read(plan.stream, report) if disks is not None else cold.DisksRead()
    counted = observed.observe() if observed is not None else None
    count_calls = run.count_calls and repetition == 0
    called = _calls(plan, hosts, session) if count_calls else None
    if options.record is not None:
        _keep(done.recorded, options.record)
    load = measured_load(
        report,
        run.seed + repetition,
        disks=reads,
        observed=counted,
        calls=called,
        processor_scores=scores,
        faults=_faults(report, conductor),
        machine=during,
    )
    lost = conductor is not None and recovery.lost_data(report.audit)
    is_complete = report.complete or (run.timed and only_time_was_up(load))
    return Measured(report, load, done.spans, is_complete and not lost)


def only_time_was_up(load: MeasuredLoad) -> bool:
    """Returns whether an incomplete run ended only because of the time limit: there was no error,
    and no client host was lost."""
    lost = any(place.lost for place in load.places or ())
    return not load.errors and not lost and load.window_s > 0


def load_plan(point: Point, repetition: int, target: FileTarget, records: bool) -> LoadPlan:
    """Returns what the load generator is given for one run of a configuration on `target`.
    `records`: whether the executed operations are recorded."""
    run = point.scenario.run
    return LoadPlan(
        stream=stream_spec(point.scenario, repetition),
        target=target,
        run_directory=f"dfslab-{uuid.uuid4().hex[:12]}",
        verify=_verify(point),
        time_limit_s=run.time_limit,
        max_errors=run.max_errors or (ANY_NUMBER if any(x.fails for x in run.layer) else 0),
        layers=[layer.plan() for layer in run.layer],
        record=records,
    )


def _verify(point: Point) -> Verify:
    """Returns how the run checks the content of files: the scenario's choice `run.verify`.

    In runs of an experimental design, "none" replaces the choice "sample", because there are many
    runs and only their rates are used.
    """
    verify = point.scenario.run.verify
    return "none" if verify == "sample" and point.scenario.design.factor else verify


def _run(
    plan: LoadPlan,
    hosts: Sequence[ClientHost] | Nodes,
    point: Point,
    session: access.InstrumentSession,
    listeners: tuple[ProgressReport | None, Watch | None],
) -> LoadRun:
    """Runs the load generator.

    Raises InputError if the target cannot run the plan, and RunFailed if no operation succeeded.
    """
    try:
        done = fleet.run_load(plan, hosts, *listeners)
    except WrongPlan as error:
        # If the testbed itself has failed, `reach` raises the testbed's error. Otherwise the error
        # of the load generator is handled below.
        session.reach(point.scenario)
        # On a testbed, dfslab itself made the files that the load could not use, so the user cannot
        # correct them. Therefore RunFailed is raised instead of InputError.
        if session.testbed is not None:
            raise RunFailed(f"{where(point)}: {error}") from error
        advice = _advised(point.scenario, error)
        raise InputError("scenario", point.labels or None, advice) from error
    except LoadFailed as error:
        raise RunFailed(f"{where(point)}: {_advised(point.scenario, error)}") from error
    report = done.report
    why = unanswered(report)
    if why:
        session.gave_up(point.scenario, why)
    why = why or next((one.first for one in report.errors), "")
    if report.errors and not any(one.count for one in report.operations.values()):
        raise RunFailed(f"{where(point)}: no operation succeeded: {why}")
    return done


def _faults(report: LoadReport, conductor: Conductor | None) -> FaultReport | None:
    """Returns the effect of the faults on the run; None for a run without faults.

    Raises RunFailed if the testbed is not healthy afterwards.
    """
    if conductor is None:
        return None
    conductor.close()
    return recovery.fault_report(report, conductor.done, conductor.late)


def _advised(scenario: Scenario, error: Exception | str) -> str:
    """Returns the text of an error that the target of the load reported. If the file system's
    description has advice on this error, the advice is appended.
    """
    advice = discover.file_system(scenario.file_system.name).advice(str(error))
    return f"{error}; {advice}" if advice else str(error)


def _calls(
    plan: LoadPlan, hosts: Sequence[ClientHost] | Nodes, session: access.InstrumentSession
) -> CallCounts:
    """Counts the system calls and the server calls that one operation causes.

    If the calls cannot be counted, the result states the reason.
    """
    if isinstance(hosts, Nodes):
        return CallCounts(not_counted="the clients run on the nodes of a Dask cluster")
    if reason := call_counts.refused(plan):
        return CallCounts(not_counted=reason)
    session.notify("counting the calls of an operation")
    observe = session.testbed.observe if session.testbed is not None else dict
    try:
        return call_counts.count(plan, hosts[0], observe)
    except LoadFailed as error:
        return CallCounts(not_counted=str(error))


def _keep(recorded: bytes, path: Path) -> None:
    """Stores the recorded operations of a run in a new file, atomically.

    Raises InputError if the file exists or cannot be written, and RunFailed if the disk is full.
    """
    Output("--record", path).write(recorded)


def _cold_disks(point: Point, session: access.InstrumentSession) -> cold.Disks | None:
    """Returns the object that checks whether a cold run read from disks. Returns None if the run is
    not cold or does not use a testbed.
    """
    wanted = point.scenario.workload.cache == "cold" and session.testbed is not None
    return cold.Disks(session.running_testbed, session.empties_clients) if wanted else None


def _listeners(
    options: MeasurementOptions, conductor: Conductor | None, disks: cold.Disks | None
) -> tuple[ProgressReport | None, Watch | None]:
    """Returns two listeners of a run: the callback for the progress, and the callbacks for live
    values. A listener is None if nothing needs it.

    Both listeners notify the fault conductor. The callbacks for live values also notify the check
    of disk reads.
    """
    progress, watch = options.progress, options.watch
    if disks is not None:
        watch = replace(watch or Watch(), prepared=disks.mark)
    if conductor is None:
        return progress, watch

    def both(share: float, phase: str) -> None:
        conductor.progress(share, phase)
        if progress is not None:
            progress(share, phase)

    watch = watch or Watch()
    before = watch.started

    def started(at_s: float) -> None:
        conductor.started(at_s)
        before(at_s)

    return both, replace(watch, started=started)


def to_result(
    method: str,
    point: Point,
    repetition: int,
    measured: Measured,
    session: access.InstrumentSession,
) -> Result:
    """Returns the result of a measured run, as it is stored."""
    report = measured.report
    metrics = {metric.RATE: Metric(value=report.rate_per_s)}
    if report.throughput_bytes_per_s:
        metrics[metric.THROUGHPUT] = Metric(value=report.throughput_bytes_per_s)
    for operation, counted in report.operations.items():
        metrics |= _times(metric.LATENCY, operation, counted.latency)
        if counted.response is not None:
            metrics |= _times(metric.RESPONSE, operation, counted.response)
    return Result(
        method=method,
        point_id=point.id,
        point=point,
        repetition=repetition,
        complete=measured.complete,
        metrics=metrics,
        steps=_steps(report),
        notes=[
            *notes_of(measured.load, measured.complete, point.scenario),
            *cold.unverified(point.scenario),
        ],
        load=measured.load,
        provenance=provenance(point.scenario.run.seed + repetition, session.versions),
    )


def _times(kind: str, operation: str, summary: Summary) -> dict[str, Metric]:
    values = (summary.mean_s, summary.p50_s, summary.p90_s, summary.p99_s, summary.p999_s)
    return {
        metric.key(kind, statistic, operation): Metric(value=value)
        for statistic, value in zip(metric.STATISTICS, values, strict=True)
    }


def notes_of(load: MeasuredLoad, complete: bool, scenario: Scenario) -> list[str]:
    """Returns notes that a reader needs to interpret the results of a run, such as the number of
    failed operations.
    """
    failed = [
        _advised(scenario, f"{e.count} {e.operation} failed ({e.kind}): {e.first}")
        for e in load.errors
    ]
    return [
        *failed,
        *_cut_short(load, complete),
        *_one_pass(scenario, load),
        *_unverified(scenario),
        *(recovery.notes(load.faults) if load.faults else []),
        *_layers(load),
        *_lateness(load),
        *_unsettled(load),
        *_not_counted(load),
        *(load.fleet.notes if load.fleet else []),
    ]


def _one_pass(scenario: Scenario, load: MeasuredLoad) -> list[str]:
    """Returns one note if a timed, cold run ended before its time limit, else an empty list."""
    run, state = scenario.run, load.cache
    is_early = run.timed and load.window_s < run.time_limit
    proof = state.proof if state is not None else None
    if not is_early or proof is None or scenario.workload.cache != "cold":
        return []
    if sum(one.bytes for one in load.operations.values()) > proof.prepared_bytes:
        return []
    return [
        "cold runs end after one pass over the files, though run.time_limit is longer: memory "
        "would serve a second pass. Larger files make them longer"
    ]


def _cut_short(load: MeasuredLoad, complete: bool) -> list[str]:
    """Returns one note if the time limit ended the run, else an empty list. The note is needed
    because no operation has failed, but the run is incomplete."""
    over = not complete and not load.errors
    return ["run.time_limit ended the workload run"] if over else []


def _unverified(scenario: Scenario) -> list[str]:
    """Returns a list with one note if the scenario turns the check of content off, else an empty
    list."""
    is_off = scenario.run.verify == "none"
    return [UNVERIFIED] if is_off else []


def _layers(load: MeasuredLoad) -> list[str]:
    done = [f"{count} {what.replace('_', ' ')}" for what, count in load.layers.items()]
    return [f"calls that layers changed: {', '.join(done)}"] if done else []


def _not_counted(load: MeasuredLoad) -> list[str]:
    reason = load.calls.not_counted if load.calls else ""
    return [f"calls of an operation are not counted: {reason}"] if reason else []


def _lateness(load: MeasuredLoad) -> list[str]:
    if load.generator is None or load.generator.on_time:
        return []
    return [
        f"the generator itself was late by up to {load.generator.late.p99_s:.3g} s for 99 % of "
        "operations: response times include some of this delay"
    ]


def _unsettled(load: MeasuredLoad) -> list[str]:
    """Returns notes on rates that did not reach a steady state.

    If the run has phases, each phase is checked separately. Otherwise the whole run is checked.
    Runs and phases that are too short are not checked.
    """
    if load.phases:
        restless = [p.name for p in load.phases if p.steady and not p.steady.reached]
        names = ", ".join(restless)
        return [f"phases that did not settle in their first half: {names}"] if restless else []
    if load.steady is None or load.steady.reached:
        return []
    return ["the run did not settle in its first half: the run has no steady rate"]


def _steps(report: LoadReport) -> list[Step]:
    """Returns one step for each pair of an operation and a primitive call that the operation makes.
    The time of a step is the sum over all calls of the primitive in seconds per operation."""
    steps = []
    for name, counted in report.steps.items():
        operation, _, step = name.partition("/")
        whole = report.operations.get(operation)
        if whole is not None and whole.count:
            total_s = counted.latency.mean_s * counted.count
            steps.append(
                Step(
                    operation=operation,
                    step=step,
                    time_s_mean=total_s / whole.count,
                    count=counted.count,
                )
            )
    return steps
