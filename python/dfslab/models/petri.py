"""The Petri model: compiles operation trees into a timed coloured Petri net and fires the net with
the workload's stream of operations.

The model follows Nguyen & Apon 2012 (PVFS as a coloured Petri net). The constants of the model are
calibrated by models/fit/demand.py.

Service times are `deterministic`, `exponential`, or `by_kind`, which is the default. With
`by_kind`, two kinds of service are distinguished:
- Data transfers, adapters, disks and the client's work are deterministic, because equal bytes take
  equal time. (A pipeline of exponential stages would be slower than its description says.)
- Server processors are exponential, because requests differ. A tree without concurrent work then
  queues exactly as in the sequence model (product form).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dfslab import quantiles
from dfslab.documents import metrics as metric
from dfslab.documents.answers import StreamSimulation
from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_report import Logged
from dfslab.documents.net_run import DeclaredStation, MonitorDefinition, RunLimits
from dfslab.documents.nets.named_net_report import NetReport
from dfslab.documents.rows import PlannedOperation
from dfslab.method import CONFIDENCE, RunFailed
from dfslab.models.answer import to_result
from dfslab.models.compiled.net_amount import MOST_UNITS
from dfslab.models.compiled.net_job import NetJob, Watched
from dfslab.models.fit.demand import (
    NOT_CALIBRATED,
    Calibration,
    calibrate,
    observations,
    operations_key,
    shrunk_sd,
    uncalibrated,
)
from dfslab.models.phase_stream import PhaseStream
from dfslab.models.simulation import PrecisionGoal, Simulation, in_sequence
from dfslab.models.tree.ignored import disks_behind_memory, ignored
from dfslab.models.tree.limits import limits_of, limits_of_phases
from dfslab.models.tree.predicted import PhaseRate, Prediction
from dfslab.models.tree.prediction import Situation
from dfslab.nets import engine
from dfslab.nets.build import Net
from dfslab.nets.inscription import DRAW
from dfslab.nets.net_json import json_text
from dfslab.result import Result
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario
from dfslab.spec.steps.calls import UNFORCED
from dfslab.spec.steps.step_path import StepPath
from dfslab.spec.streams.stream import stream_spec
from dfslab.spec.systems.filesystem import FileSystem

NAMES = ("petri",)
REPLICATIONS = 4
THREADS = 2
# Largest number of transition firings in one replication. RUN_FIRINGS applies when a configuration
# is predicted. FIT_FIRINGS applies when the residuals of fitted configurations are computed.
RUN_FIRINGS = 250_000
FIT_FIRINGS = 60_000
# Smallest number of firings of one phase of a workload with several phases.
FEWEST_FIRINGS = 20_000
# Smallest number of simulated operations per client, unless the stream is shorter.
FEWEST_OPERATIONS = 6
PROBED_OPERATIONS = 2
# Largest number of firings for a replayed trace. Up to this limit, the trace is simulated
# completely, because the beginning of a trace is not representative of the whole trace.
TRACE_FIRINGS = 4_000_000
PROBED_OF_TRACE = 64


def make(name: str) -> PetriModel:
    """Returns the method `petri`, which is the only method of this module."""
    return PetriModel()


class PetriModel:
    """Predicts a configuration by firing its net."""

    name = "petri"

    def __init__(self, service: str = "by_kind") -> None:
        self.service = service
        self.calibration: Calibration | None = None
        self.residual_sd: Mapping[str, float] | None = None

    def fit(self, results: Sequence[Result]) -> PetriModel:
        """Calibrates the constants. Then estimates the residuals of this model by comparing its
        predictions with the measurements of the fitted configurations.
        """
        calibration = calibrate(results)
        errors: dict[str, list[float]] = {}
        observed = observations(results)
        for one in observed:
            constants = {**one.situation.constants, **calibration.values}
            found = simulate(
                one.situation, constants, service=self.service, firings=FIT_FIRINGS, replications=2
            )
            error = float(np.log(found.rate_per_s / one.rate_per_s))
            errors.setdefault(operations_key(one.situation), []).append(error)
        spent = max(0.0, len(observed) - calibration.degrees_of_freedom)
        self.calibration, self.residual_sd = calibration, shrunk_sd(errors, spent)
        return self

    def run(self, point: Point) -> Result:
        """Predicts one configuration."""
        situation = Situation(point.scenario)
        calibration = self.calibration or uncalibrated(situation)
        missing = sorted(set(situation.constants) - set(calibration.values))
        constants = {**situation.constants, **calibration.values}
        situation = situation.at(constants)
        run = point.scenario.run
        goal = (
            PrecisionGoal(run.precise, run.precision, run.most_repetitions)
            if run.precision
            else None
        )
        found = simulate(situation, constants, service=self.service, goal=goal)
        notes = [*situation.notes, *disks_behind_memory(situation, constants)]
        if goal is not None and (wide := found.half_width(goal)) > goal.precision:
            notes.append(
                f"petri: {goal.metric} is known to {wide:.1%}, not to {goal.precision:.1%}, "
                f"after {found.replications} replications; raise run.most_repetitions"
            )
        if missing:
            notes.append(f"never measured, prior used: {', '.join(missing)}")
        if not calibration.is_measured:
            notes.append(NOT_CALIBRATED)
        factor = calibration.interval_factor(situation, self.residual_sd)
        sure = quantiles.student(0.5 + CONFIDENCE / 2, max(1, found.replications - 1))
        factor_of = {
            name: float(np.exp(np.hypot(np.log(factor), sure * error)))
            for name, error in found.errors.items()
        }
        factors = {
            metric.key(metric.LATENCY, metric.MEAN, name): factor_of[name]
            for name in found.latency_s
        }
        factors |= dict.fromkeys((metric.RATE, metric.THROUGHPUT), factor_of["rate"])
        sequence = situation.predict(constants)
        answer = _as_prediction(found, sequence)
        result = to_result(
            self.name,
            point,
            answer,
            factor,
            notes,
            calibration,
            factors,
            limits_of(situation, constants, sequence),
            limits_of_phases(situation, constants),
        )
        simulation, unused = _simulated(found, situation), ignored(situation, constants)
        return result.model_copy(update={"simulation": simulation, "ignored": unused})


def _simulated(found: Simulation, situation: Situation) -> StreamSimulation:
    """Returns how much of the stream was simulated, and into how many units a pipelined transfer
    was split.
    """
    return StreamSimulation(
        operations_per_client=found.operations,
        operations_per_client_offered=found.offered,
        clients=situation.scenario.workload.clients,
        replications=found.replications,
        firings=found.firings,
        most_units_of_a_pipeline=found.units,
    )


def _as_prediction(found: Simulation, sequence: Prediction) -> Prediction:
    """Returns the sequence model's prediction with some values replaced by simulated ones: rate,
    times and utilisation. The bounds and the unloaded times of the sequence model are kept. Its
    quantiles are removed."""
    return replace(
        sequence,
        rate_per_s=found.rate_per_s,
        latency_s={**sequence.latency_s, **found.latency_s},
        steps={**sequence.steps, **found.steps},
        quantiles_s={},
        phases=[
            PhaseRate(one.name, rate, rate * one.throughput_bytes_per_s / one.rate_per_s)
            for one, rate in zip(sequence.phases, found.phases, strict=True)
        ],
        utilisation={**dict.fromkeys(sequence.utilisation, 0.0), **found.utilisation},
    )


def fire(
    net: Net | NetDefinition,
    monitors: Mapping[str, MonitorDefinition] | None = None,
    *,
    seed: int,
    replications: int = REPLICATIONS,
    first: int = 0,
    stations: Sequence[DeclaredStation] = (),
) -> list[NetReport]:
    """Fires a net in each replication until no transition can fire. Returns the engine's report on
    each replication. Replications are numbered from `first`.

    At `stations`, the engine checks Little's law and the utilisation law. Raises RunFailed if the
    net is malformed.
    """
    limits = RunLimits(seed=seed, replications=replications, threads=THREADS)
    if first:
        limits["first_replication"] = first
    try:
        return engine.run(net, monitors, stations=stations, **limits)
    except InputError as error:
        raise RunFailed(str(error)) from error


def job_of(
    situation: Situation,
    constants: Mapping[str, float],
    stream: Sequence[PlannedOperation],
    service: str = "by_kind",
    units: int = MOST_UNITS,
) -> NetJob:
    """Returns the input from which a configuration's net is built. The net has the operation types
    that occur in `stream`.
    """
    values = {**situation.environment, **constants, **situation.symbols}
    kinds = sorted({one.operation for one in stream})
    trace = situation.trace
    if trace is None and "open" in kinds:
        # A stream with "open" also has "close", which writes nothing back here. The constants of
        # "close" were therefore not fitted, and get the values of their priors.
        declared = situation.system.parameters.of_origin("calibrated")
        priors = {key: float(one.default or 0.0) for key, one in declared.items()}
        values = {**priors, **values, UNFORCED: 0.0}
    moving = ("read", "write", "append")
    sizes = {one.size_bytes for one in stream if one.operation in moving}
    return NetJob(
        trees={kind: situation.system.trees[kind] for kind in kinds},
        placement=situation.placement,
        environment=values,
        client=situation.client,
        written_back=situation.written_back,
        think_time_s=situation.whole.think_time_s,
        service=service,
        sized=trace is not None or any(size != values["file_size"] for size in sizes),
        most_units=units,
        trace=trace,
    )


def simulate(
    situation: Situation,
    constants: Mapping[str, float],
    *,
    service: str = "by_kind",
    firings: int = RUN_FIRINGS,
    replications: int = REPLICATIONS,
    goal: PrecisionGoal | None = None,
) -> Simulation:
    """Simulates one configuration by firing its nets, with about `firings` firings in each
    replication.

    The phases of a workload are simulated one after the other, each by a separate net. Equal phases
    are simulated only once.

    With a goal, the number of replications is doubled until the goal is met. Doubling keeps the
    number of checks of the goal small, because many checks would bias the interval.
    """
    spec = stream_spec(situation.scenario)
    if len(situation.phases) == 1:
        part = PhaseStream(situation, spec, 0)
        return _of_phase(part, constants, service, firings, replications, goal)
    each = max(FEWEST_FIRINGS, firings // len(situation.phases))
    known: dict[str, Simulation] = {}
    found = []
    for index, phase in enumerate(situation.phases):
        key = f"{phase.work} {phase.weight}"
        if key not in known:
            part = PhaseStream(situation.alone(index), spec, phase.index)
            one = _of_phase(part, constants, service, each, replications, goal)
            clients = situation.scenario.workload.clients
            known[key] = replace(one, rate_per_s=phase.paused(one.rate_per_s, clients))
        found.append(known[key])
    return in_sequence(situation.phases, found)


def _of_phase(
    part: PhaseStream,
    constants: Mapping[str, float],
    service: str,
    firings: int,
    replications: int,
    goal: PrecisionGoal | None,
) -> Simulation:
    """Simulates one phase by firing its net, with about `firings` firings in each replication."""
    situation, offered = part.situation, part.offered
    scenario, clients = situation.scenario, situation.scenario.workload.clients
    units, operations = MOST_UNITS, 0
    if situation.trace is not None:
        firings = TRACE_FIRINGS
    while True:
        each = _firings_per_operation(part, constants, units)
        operations = min(offered, max(1, int(firings / (each * clients))))
        if operations >= min(offered, FEWEST_OPERATIONS) or units <= MOST_UNITS // 4:
            break
        units //= 2
    operations = min(offered, max(operations, FEWEST_OPERATIONS))
    stream = part.first(operations, clients)
    job = job_of(situation, constants, stream, service, units)
    net, watched = job.net(scenario.name, clients, stream)
    definition = net.document()
    if not DRAW.search(json_text(definition)):
        replications = 1
    rated = "whole" if operations == offered else "steady"
    if situation.trace is not None:
        rated = "trace"
    parts: list[_Replication] = []
    while True:
        reports = fire(
            definition,
            net.monitors,
            seed=scenario.run.seed,
            replications=replications,
            first=len(parts),
            stations=watched.laws,
        )
        parts += [_Replication(one, watched, clients, job.think_time_s, rated) for one in reports]
        found = _pooled(parts, operations, offered, units)
        if goal is None or not 1 < len(parts) < goal.most:
            return found
        if found.half_width(goal) <= goal.precision:
            return found
        replications = min(len(parts), goal.most - len(parts))


def _firings_per_operation(part: PhaseStream, constants: Mapping[str, float], units: int) -> float:
    """Returns the number of firings per operation, from a trial run with one client."""
    situation = part.situation
    probed = PROBED_OPERATIONS if situation.trace is None else PROBED_OF_TRACE
    stream = part.first(probed, 1)
    job = job_of(situation, constants, stream, "deterministic", units)
    net, _ = job.net("trial", 1, stream)
    (report,) = fire(net.document(), seed=0, replications=1)
    return report.firings / len(stream)


class _Replication:
    """The report of one replication, converted to the model's metrics.

    `rated` selects the formula for the rate of n operations:
    - "trace": n / t, where t is the time of the last completion, as in a measurement.
    - "whole": n / e, where e is the time at which deferred work is complete as well.
    - "steady": r t / e, where r is the rate while all clients are active.
    """

    def __init__(
        self, report: NetReport, watched: Watched, clients: int, think_s: float, rated: str
    ) -> None:
        spans = {name: report.sojourns[monitor] for name, monitor in watched.spans.items()}
        logs = [report.logs[monitor] for monitor in watched.ends]
        ends = sorted((time_ns, _client(values)) for log in logs for time_ns, values in log.rows)
        self.firings = report.firings
        self.counts = {name: span.count for name, span in spans.items()}
        last_s, net_s = ends[-1][0] / 1e9, report.end_time_ns / 1e9
        # Except for a replayed trace, the rate includes the time to complete deferred work.
        left = rated != "trace" and net_s > last_s + think_s + 1e-9
        end_s = net_s if left else last_s
        steady = rated == "steady"
        rate = _steady_rate_per_s(ends, clients) if steady else len(ends) / last_s
        self.rate_per_s = rate * last_s / end_s
        stretch = 1.0
        if left:
            stretch = (clients / self.rate_per_s - think_s) / (clients / rate - think_s)
        self.latency_s = {name: span.mean_s * stretch for name, span in spans.items() if span.count}
        self.steps: dict[tuple[str, StepPath], float] = {}
        for monitor, key in watched.steps.items():
            span = report.sojourns[monitor]
            if span.count:
                time = span.mean_s * span.count / self.counts[key[0]] * stretch
                self.steps[key] = self.steps.get(key, 0.0) + time
        self.utilisation = {
            station: (station.copies * station.servers - (report.markings[idle].mean or 0.0))
            * net_s
            / (station.copies * station.servers * end_s)
            for station, idle in watched.idle.items()
        }


def _client(values: Sequence[Logged]) -> int:
    """Returns the number of a client, from the row that a monitor logged when an operation
    completed."""
    (client,) = values
    assert isinstance(client, int), f"{client!r} is no client"
    return client


def _steady_rate_per_s(ends: Sequence[tuple[int, int]], clients: int) -> float:
    """Returns the rate in operations per second while all clients are active.

    This period begins when every client has completed an operation. It ends when the first client
    completes its last operation. If the period is empty, returns the rate until the last
    completion. Each entry of `ends` is (time of a completion in ns, number of the client).
    """
    firsts: dict[int, int] = {}
    lasts: dict[int, int] = {}
    for time_ns, client in ends:
        firsts.setdefault(client, time_ns)
        lasts[client] = time_ns
    start_ns, end_ns = max(firsts.values()), min(lasts.values())
    if end_ns <= start_ns or len(firsts) < clients:
        return len(ends) / ends[-1][0] * 1e9
    done = sum(start_ns < time_ns <= end_ns for time_ns, _ in ends)
    return done / (end_ns - start_ns) * 1e9


def _pooled(parts: Sequence[_Replication], operations: int, offered: int, units: int) -> Simulation:
    """Returns the means over replications and their relative standard errors."""

    def mean(values: Sequence[Mapping[Any, float]]) -> dict[Any, float]:
        keys = dict.fromkeys(key for one in values for key in one)
        return {k: float(np.mean([one[k] for one in values if k in one])) for k in keys}

    def error(values: Sequence[float]) -> float:
        # Values that are all 0 have no standard error.
        if len(values) < 2 or not any(values):
            return 0.0
        return float(np.std(values, ddof=1) / np.sqrt(len(values)) / np.mean(values))

    latency = mean([one.latency_s for one in parts])
    errors = {
        name: error([one.latency_s[name] for one in parts if name in one.latency_s])
        for name in latency
    }
    rates = [one.rate_per_s for one in parts]
    return Simulation(
        rate_per_s=float(np.mean(rates)),
        latency_s=latency,
        steps=mean([one.steps for one in parts]),
        utilisation=mean([one.utilisation for one in parts]),
        errors={**errors, "rate": error(rates)},
        operations=operations,
        offered=offered,
        firings=sum(one.firings for one in parts),
        replications=len(parts),
        units=units,
    )


def net_of(system: FileSystem, operation: str, scenario: Scenario | None = None) -> NetDefinition:
    """Returns the net of one client that runs one operation once.

    Calibrated constants have their priors from the description. Without a scenario, every role has
    dedicated nodes, as many as the description's default.
    """
    scenario = scenario or _default_scenario(system)
    situation = Situation(scenario)
    calibrated = system.parameters.of_origin("calibrated")
    constants = {key: float(one.default or 0.0) for key, one in calibrated.items()}
    size = int(situation.environment["file_size"])
    job = NetJob(
        {operation: system.operations[operation]},
        situation.placement,
        {**situation.environment, **constants},
        situation.client,
    )
    once = PlannedOperation(
        client=0,
        number=0,
        operation=operation,
        file=0,
        size_bytes=size,
        transfer_size_bytes=size,
        offset_bytes=0,
        owner=0,
        phase=0,
    )
    net, _ = job.net(f"{system.name}.{operation}", 1, [once])
    return net.document()


def _default_scenario(system: FileSystem) -> Scenario:
    nodes = [
        {"name": role.name, "count": role.instances, "roles": {role.name: 1}}
        for role in system.roles
    ]
    return build(
        Scenario,
        {
            "name": system.name,
            "deployment": {"node": nodes},
            "file_system": {"name": system.name},
            "workload": {"name": "sequential_write"},
        },
    )
