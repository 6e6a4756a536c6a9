"""Measures: runs the load generator on the real file system and reports what it saw."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dfslab import discover
from dfslab.fleet import run as fleet
from dfslab.fleet.places import Nodes
from dfslab.fleet.run import LoadFailed, WrongPlan
from dfslab.fleet.watch import Watch
from dfslab.instruments import access, calls, cold, command, recovery
from dfslab.instruments.faults import Conductor, quietly
from dfslab.instruments.series import rate_interval
from dfslab.instruments.warm_up import shares_vary, warm_up, where
from dfslab.method import RunFailed
from dfslab.result import Metric, Result, Step, provenance
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Point, Scenario
from dfslab.spec.stream import stream_spec

NAMES = ("measure",)
ANY_NUMBER = 2**62
PHASE_KEYS = (
    "name",
    "start_s",
    "window_s",
    "stonewall_s",
    "count",
    "bytes",
    "rate_per_s",
    "throughput_bytes_per_s",
    "stonewall_rate_per_s",
    "seconds",
    "steady",
    "cache",
)
QUANTILES = ("p50", "p90", "p99", "p999")


def make(name: str) -> Measure:
    """The method of that name."""
    return Measure()


class Measure:
    """Runs a configuration's stream once and measures it."""

    name = "measure"

    def run(self, point: Point, repetition: int = 0) -> Result:
        """Measure once. InputError when the target cannot do it, RunFailed when the run failed."""
        with access.current() as session:
            session.traced = False
            if command.is_command(point):
                return command.measured(point, repetition, session)
            outcome = _under_faults(point, repetition, session)
            return to_result(self.name, point, repetition, outcome, session)


def _under_faults(point: Point, repetition: int, session: access.Session) -> dict[str, Any]:
    """The report of one run with what its scenario does to the bed meanwhile."""
    run = point.scenario.run
    if not run.fault:
        return run_load(point, repetition, session)[0]
    session.reach(point.scenario)
    conductor = Conductor(session.testbed, run.fault)
    # What fails is what is looked for, and all that was acknowledged is looked at afterwards.
    changes = {"max_errors": run.max_errors or ANY_NUMBER, "verify": "after"}
    try:
        outcome, _ = run_load(point, repetition, session, changes, conductor)
    except BaseException:
        quietly(conductor)
        raise
    conductor.close()
    outcome["faults"] = recovery.told(outcome, conductor.done, conductor.late)
    audit = outcome["audit"] or {}
    outcome["complete"] &= not (audit.get("missing") or audit.get("wrong"))
    return outcome


def run_load(
    point: Point,
    repetition: int,
    session: access.Session,
    changes: Mapping[str, Any] | None = None,
    conductor: Conductor | None = None,
) -> tuple[dict[str, Any], list[tuple]]:
    """The load generator's report on one run, and its spans; `changes` go over the plan, and a
    conductor of faults acts beside it."""
    run = point.scenario.run
    target = session.target(point.scenario)
    # A score takes seconds, and says something only beside that of another share. It is taken
    # before the daemons have anything to compile, which would take from the same share.
    scores = session.bed.scores if session.bed is not None and shares_vary(point) else None
    if session.cold_daemons:
        session.cold_daemons = False
        with session.whole_processors():
            warm_up(point, target, session)
    plan = {
        "stream": stream_spec(point.scenario, repetition),
        "target": target,
        "run_directory": f"dfslab-{uuid.uuid4().hex[:12]}",
        "verify": run.verify,
        "time_limit_s": run.time_limit,
        "max_errors": run.max_errors or (ANY_NUMBER if any(x.fails for x in run.layer) else 0),
        "layers": [layer.plan() for layer in run.layer],
        "record": session.recording is not None,
        **(changes or {}),
    }
    disks = _cold_disks(point, session)
    # What comes after a phase, such as looking at caches or removing files, reads disks, too.
    plan["hold"] = disks is not None
    # A design has hundreds of runs, judged by their rates: asking daemons takes as long as a run.
    observed = None if point.scenario.design.factor else session.bed
    if observed is not None:
        observed.observe()  # what was counted before this run is not its own
    try:
        places = session.places(point.scenario)
        told = _listeners(session, conductor, disks)
        outcome, spans, recorded = fleet.run_load(plan, places, *told)
    except WrongPlan as error:
        # A bed that broke since it was reached is not the scenario's fault, and says so itself.
        session.reach(point.scenario)
        # Nor is what this one mount said, where another run may well do: files are the bed's own.
        if session.bed is not None:
            raise RunFailed(f"{where(point)}: {error}") from error
        said = _advised(point.scenario, error)
        raise InputError("scenario", point.labels or None, said) from error
    except LoadFailed as error:
        raise RunFailed(f"{where(point)}: {_advised(point.scenario, error)}") from error
    if outcome["errors"] and not any(o["count"] for o in outcome["operations"].values()):
        first = outcome["errors"][0]
        raise RunFailed(f"{where(point)}: no operation succeeded: {first['first']}")
    if disks is not None:
        disks.tell(plan["stream"], outcome)
    if observed is not None:
        outcome["observed"] = observed.observe()
    if run.count_calls and repetition == 0:
        outcome["calls"] = _calls(plan, places, session)
    if session.recording is not None:
        _keep(recorded, session.recording)
        session.recording = None
    if scores is not None:
        outcome["processor_scores"] = scores
    return outcome, spans


def _advised(scenario: Scenario, error: Exception | str) -> str:
    """What a target said, and what its file system knows to help against that."""
    advice = discover.file_system(scenario.file_system.name).advice(str(error))
    return f"{error}; {advice}" if advice else str(error)


def _calls(plan: Mapping[str, Any], places: Any, session: access.Session) -> dict[str, Any]:
    """What one operation asks of kernel and servers, or why that is not counted."""
    if isinstance(places, Nodes):
        return {"not_counted": "its clients run at the nodes of a Dask cluster"}
    if reason := calls.refused(plan):
        return {"not_counted": reason}
    session.notify("counting the calls of an operation")
    observe = session.bed.observe if session.bed is not None else dict
    try:
        return calls.count(plan, places[0], observe)
    except LoadFailed as error:
        return {"not_counted": str(error)}


def _keep(recorded: bytes, path: Path) -> None:
    """The operations that a run has done, in a new file, whole or not at all."""
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        beside.write_bytes(recorded)
        # A link, unlike a renaming, never takes the place of a file that is there.
        os.link(beside, path)
    except OSError as error:
        raise RunFailed(f"recording to {path}: {error.strerror}") from error
    finally:
        beside.unlink(missing_ok=True)


def _cold_disks(point: Point, session: access.Session) -> cold.Disks | None:
    """What looks after a cold run on a bed."""
    wanted = point.scenario.workload.cache == "cold" and session.bed is not None
    return cold.Disks(session.testbed) if wanted else None


def _listeners(
    session: access.Session, conductor: Conductor | None, disks: cold.Disks | None
) -> tuple[fleet.Progress | None, Watch | None]:
    """Who is told how far the load is, and who when it is prepared and when it began."""
    progress, watch = session.progress, session.watch
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
    method: str, point: Point, repetition: int, outcome: Mapping[str, Any], session: access.Session
) -> Result:
    """The load generator's report as a Result."""
    metrics = {"rate_per_s": Metric(value=outcome["rate_per_s"])}
    if outcome["throughput_bytes_per_s"]:
        metrics["throughput_bytes_per_s"] = Metric(value=outcome["throughput_bytes_per_s"])
    for operation, seen in outcome["operations"].items():
        latency = seen["latency"]
        metrics[f"latency_s_mean.{operation}"] = Metric(value=latency["mean_s"])
        for quantile in QUANTILES:
            metrics[f"latency_s_{quantile}.{operation}"] = Metric(value=latency[f"{quantile}_s"])
        if response := seen.get("response"):
            for name in ("mean", *QUANTILES):
                key = f"response_s_{name}.{operation}"
                metrics[key] = Metric(value=response[f"{name}_s"])
    return Result(
        method=method,
        point_id=point.id,
        point=point,
        repetition=repetition,
        complete=outcome["complete"],
        metrics=metrics,
        steps=_steps(outcome),
        utilisation={},
        notes=[*notes_of(outcome, point.scenario), *cold.unproven(point.scenario)],
        detail=_detail(outcome, point.scenario.run.seed + repetition),
        provenance=provenance(point.scenario.run.seed + repetition, session.versions),
    )


def notes_of(outcome: Mapping[str, Any], scenario: Scenario) -> list[str]:
    said = [
        f"{e['count']} {e['operation']} failed ({e['kind']}): {e['first']}"
        for e in outcome["errors"]
    ]
    failed = [_advised(scenario, one) for one in said]
    faults = recovery.notes(outcome["faults"]) if "faults" in outcome else []
    return [
        *failed,
        *_cut_short(outcome),
        *faults,
        *_layers(outcome),
        *_lateness(outcome),
        *_unsettled(outcome),
        *_not_counted(outcome),
        *outcome.get("fleet", {}).get("notes", []),
    ]


def _cut_short(outcome: Mapping[str, Any]) -> list[str]:
    """What ends a load in which nothing failed and nobody was lost is its time."""
    over = not outcome["complete"] and not outcome["errors"]
    return ["the load was not over when run.time_limit was"] if over else []


def _layers(outcome: Mapping[str, Any]) -> list[str]:
    done = [
        f"{count} {what.replace('_', ' ')}" for what, count in (outcome.get("layers") or {}).items()
    ]
    return [f"calls that layers changed: {', '.join(done)}"] if done else []


def _not_counted(outcome: Mapping[str, Any]) -> list[str]:
    reason = outcome.get("calls", {}).get("not_counted")
    return [f"calls of an operation are not counted: {reason}"] if reason else []


def _lateness(outcome: Mapping[str, Any]) -> list[str]:
    generator = outcome.get("generator") or {"on_time": True}
    if generator["on_time"]:
        return []
    late_s = generator["late"]["p99_s"]
    return [
        f"the generator itself was late by up to {late_s:.3g} s for 99 % of operations: "
        "response times hold some of that"
    ]


def _unsettled(outcome: Mapping[str, Any]) -> list[str]:
    """Phases differ, so several of them are judged one by one; what is too short, not at all."""
    phases = outcome.get("phases") or ()
    restless = [
        part
        for part in phases or (outcome,)
        if part.get("steady") and not part["steady"]["reached"]
    ]
    if not restless:
        return []
    if phases:
        names = ", ".join(phase["name"] for phase in restless)
        return [f"phases that did not settle in their first half: {names}"]
    return ["the load did not settle in its first half: its rate is no steady one"]


def _steps(outcome: Mapping[str, Any]) -> list[Step]:
    """Time per operation that each primitive took, all its calls of one operation together."""
    steps = []
    for name, seen in outcome["steps"].items():
        operation, _, step = name.partition("/")
        operations = outcome["operations"].get(operation, {}).get("count", 0)
        if operations:
            total = seen["latency"]["mean_s"] * seen["count"]
            steps.append(
                Step(
                    operation=operation,
                    step=step,
                    time_s_mean=total / operations,
                    count=seen["count"],
                )
            )
    return steps


def _detail(outcome: Mapping[str, Any], seed: int) -> dict[str, Any]:
    kept = [
        "wall_s",
        "window_s",
        "stonewall_s",
        "stonewall_rate_per_s",
        "cache",
        "cpu_s",
        "verified_bytes",
        "per_client",
        "errors",
        "observed",
        "seconds",
        "steady",
        "generator",
        "schedule",
        "layers",
        "audit",
        "processor_scores",
    ]
    kept += [key for key in ("faults", "calls") if key in outcome]
    if "places" in outcome:
        kept += ["places", "late_s", "fleet"]
    operations = outcome["operations"].items()
    phases = [
        {key: phase[key] for key in PHASE_KEYS}
        | {"rate_interval": rate_interval(phase["seconds"], phase["steady"], seed)}
        | {"latency": {name: seen["latency"] for name, seen in phase["operations"].items()}}
        | {"operations": _counts(phase["operations"])}
        for phase in outcome.get("phases", ())
    ]
    return {
        **{key: outcome.get(key) for key in kept},
        "operations": _counts(outcome["operations"]),
        "phases": phases,
        "rate_interval": rate_interval(outcome["seconds"], outcome["steady"], seed),
        "histograms": {name: seen["histogram"]["buckets"] for name, seen in operations},
        "response_histograms": {
            name: seen["response_histogram"]["buckets"]
            for name, seen in operations
            if seen.get("response_histogram")
        },
    }


def _counts(operations: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    keys = ("count", "bytes", "errors")
    return {name: {key: seen[key] for key in keys} for name, seen in operations.items()}
