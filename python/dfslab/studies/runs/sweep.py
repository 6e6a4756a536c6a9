"""Runs all methods for all configurations: first the instruments, which measure, and then the
models, which predict.

Each repetition measures all configurations in a new random order, so that slow drift of the machine
affects all configurations equally. The configurations of one testbed are measured consecutively.
Stored results are not measured again. If a configuration fails, an incomplete result with a note is
stored, and the sweep continues.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dfslab.instruments.access import InstrumentSession
from dfslab.instruments.contract import (
    NO_OPTIONS,
    Instrument,
    MeasurementOptions,
    RunMethod,
    instruments_among,
    models_among,
)
from dfslab.method import MEASURE, BatchModel, Model, RunFailed
from dfslab.result import Result, provenance
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.contract import Progress, silent_progress
from dfslab.studies.runs.precision import half_width
from dfslab.studies.runs.stages import Stages
from dfslab.studies.runs.store import Store

# One run to measure: (instrument, configuration, number of the repetition).
SweepJob = tuple[Instrument, Point, int]


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep runs: every method of `methods` for every configuration of `scenario`.

    `store`: the run folder for the results. `session` and `options` are passed to every
    measurement.
    """

    scenario: Scenario
    methods: Sequence[RunMethod]
    store: Store
    session: InstrumentSession
    options: MeasurementOptions = NO_OPTIONS


def sweep(
    plan: SweepPlan,
    report: Progress,
    stages: Stages | None = None,
    job_s: float | None = None,
    clock: Clock = REAL,
) -> list[Result]:
    """Returns the results of every method at every configuration.

    `job_s`: expected seconds of one measurement; None if unknown. The remaining time is computed
    from `job_s` until the first measurement has ended. `clock` measures how long the measurements
    take.

    A failed run is a result with `complete` false, no metrics, and a note with the reason. Raises
    RunFailed if every run fails.
    """
    points, stages = plan.scenario.points(), stages or Stages()
    models = models_among(plan.methods)
    jobs = _jobs(points, instruments_among(plan.methods), plan.scenario)
    results: list[Result] = []
    if jobs:
        with stages.of("loading"):
            results = _measure(jobs, plan, report, clock, job_s)
            results += _narrowed(plan, points, results, report, clock)
    training = [r for r in results if r.method == MEASURE and r.complete and not r.point.held_out]
    for number, model in enumerate(models):
        report(number, len(models), f"fitting {model.name} (model {number + 1} of {len(models)})")
        with stages.of("fitting"):
            own = _share(report, number, len(models))
            results += _predict(model, training, points, plan.store, own)
    if results and all(map(is_failure, results)):
        raise RunFailed(results[0].notes[0])
    return results


def resumption(scenario: Scenario, methods: Sequence[RunMethod], store: Store) -> str:
    """Returns a sentence with the number of measurements that a resumed run already has. Returns ""
    if the run is new or has no instruments."""
    if not store.resumed:
        return ""
    count, missing = counts(scenario, methods, store)
    if not count:
        return ""
    return (
        f"resuming the run of {store.folder}: {count - missing} of {count} measurements are done "
        "(--fresh: a new run)"
    )


def missing_measurements(scenario: Scenario, methods: Sequence[RunMethod], store: Store) -> int:
    """Returns the number of measurements of a run that have no stored result yet."""
    return counts(scenario, methods, store)[1]


def counts(scenario: Scenario, methods: Sequence[RunMethod], store: Store) -> tuple[int, int]:
    """Returns (number of all measurements of a run, number of the measurements without a stored
    result)."""
    jobs = _jobs(scenario.points(), instruments_among(methods), scenario)
    found = [store.find(instrument.name, point.id, number) for instrument, point, number in jobs]
    return len(jobs), found.count(None)


def measure_alternately(plans: Sequence[SweepPlan], report: Progress) -> None:
    """Measures several runs alternately, and stores the results in the folders of the runs. Each
    round executes one job of each run. Every second round has the reverse order, so that linear
    drift of the machine affects all runs equally.

    A job that fails is stored as a failure, and the remaining jobs are still executed.
    """
    jobs = [
        _jobs(one.scenario.points(), instruments_among(one.methods), one.scenario) for one in plans
    ]
    rounds = max(map(len, jobs), default=0)
    for number in range(rounds):
        order = list(zip(plans, jobs, strict=True))
        for one, own in order if number % 2 == 0 else reversed(order):
            if number < len(own):
                report(number, rounds, f"round {number + 1}: {one.scenario.name}")
                # The failure is stored. The sweep that follows runs the failed configuration again.
                with suppress(RunFailed):
                    _measure([own[number]], one, silent_progress)


def is_failure(result: Result) -> bool:
    """Returns whether a result stands for a run that failed: it is incomplete and has no metrics.

    The result of a measurement that was cut short is also incomplete, but has metrics.
    """
    return not result.complete and not result.metrics


def failure(method: str, point: Point, repetition: int, error: RunFailed) -> Result:
    """Returns the result that is stored for a failed run. Its note is the text of the error.

    A resumed sweep runs the configuration again.
    """
    text = str(error)
    return Result(
        method=method,
        point_id=point.id,
        point=point,
        repetition=repetition,
        complete=False,
        metrics={},
        notes=[text if text.startswith(f"{method}:") else f"{method}: {text}"],
        provenance=provenance(point.scenario.run.seed + repetition),
    )


def _jobs(
    points: Sequence[Point], instruments: Sequence[Instrument], scenario: Scenario
) -> list[SweepJob]:
    """Every measurement as a job (instrument, configuration, repetition), in the order of
    running."""
    jobs: list[SweepJob] = []
    order = random.Random(scenario.run.seed)
    for instrument in instruments:
        repetitions = scenario.run.repetitions if instrument.name == MEASURE else 1
        for repetition in range(repetitions):
            shuffled = list(points)
            order.shuffle(shuffled)
            jobs += [(instrument, point, repetition) for point in shuffled]
    # Within a block of repetitions, the configurations of one testbed run consecutively, so that
    # each testbed is started only once in the block. The blocks run one after the other, so drift
    # of the machine appears as a difference between blocks.
    place = {_testbed_key(point): number for number, point in enumerate(points)}
    blocks = scenario.design.blocks
    return sorted(jobs, key=lambda job: (job[2] % blocks, place[_testbed_key(job[1])]))


def _testbed_key(point: Point) -> str:
    if not point.scenario.file_system.access.testbed:
        return ""
    return point.testbed


def _measure(
    jobs: Sequence[SweepJob],
    plan: SweepPlan,
    report: Progress,
    clock: Clock = REAL,
    job_s: float | None = None,
) -> list[Result]:
    """Runs the jobs that have no stored result, and returns the results of all jobs. The reported
    remaining time covers only jobs that still have to run.

    Raises RunFailed if every configuration has been run and every run has failed.
    """
    store = plan.store
    results: list[Result] = []
    # Configurations that have not been run yet. The sweep ends with an error when this set is empty
    # and every run so far has failed. After the first success, the set has no effect.
    untried = {point.id for _, point, _ in jobs}
    hopeless = True
    # For each job: the number of jobs, from this job to the last, that have no readable stored
    # result now. The number is an upper limit: adding a result also repairs a damaged file, which
    # may make further stored results readable.
    missing = _missing_from(jobs, store)
    began, ran = clock.monotonic_s(), 0
    for number, (instrument, point, repetition) in enumerate(jobs):
        known = store.find(instrument.name, point.id, repetition)
        if known is not None:
            results.append(known.model_copy(update={"point": point}))
            hopeless = False
            continue
        spent = clock.monotonic_s() - began
        each_s = spent / ran if ran else job_s
        remaining = [] if each_s is None else [each_s * missing[number]]
        report(number, len(jobs), f"{instrument.name} {describe(point)}", *remaining)
        try:
            options = plan.options.for_next_measurement()
            result = instrument.run(point, plan.session, repetition, options)
        except RunFailed as error:
            result = failure(instrument.name, point, repetition, error)
        if damage := store.damage(instrument.name, point.id, repetition):
            note = f"measured again, because its stored result {damage}"
            result = result.model_copy(update={"notes": [*result.notes, note]})
        store.add(result)
        results.append(result)
        ran += 1
        hopeless = hopeless and is_failure(result)
        untried.discard(point.id)
        if hopeless and not untried:
            raise RunFailed(results[0].notes[0])
    report(len(jobs), len(jobs), f"measured in {clock.monotonic_s() - began:.0f} s ({ran} new)")
    return results


def _missing_from(jobs: Sequence[SweepJob], store: Store) -> list[int]:
    count, found = 0, list[int]()
    for instrument, point, repetition in reversed(jobs):
        count += store.find(instrument.name, point.id, repetition) is None
        found.append(count)
    return found[::-1]


def _narrowed(
    plan: SweepPlan,
    points: Sequence[Point],
    results: Sequence[Result],
    report: Progress,
    clock: Clock,
) -> list[Result]:
    """Repeats the measurement of each configuration until its mean has the requested precision or
    it has `most_repetitions` repetitions. Returns the new results. Raises InputError if the
    scenario's key `run.precise` names a metric that was not measured."""
    run, more = plan.scenario.run, list[Result]()
    measuring = [one for one in instruments_among(plan.methods) if one.name == MEASURE]
    for repetition in range(run.repetitions, run.most_repetitions if run.precision else 0):
        observed: dict[str, list[float]] = {}
        for one in (*results, *more):
            if one.method == MEASURE and one.complete:
                if run.precise not in one.metrics:
                    allowed = f"not a metric of this run; there are {', '.join(one.metrics)}"
                    raise InputError("run.precise", run.precise, allowed)
                observed.setdefault(one.point_id, []).append(one.value(run.precise))
        wide = [point for point in points if half_width(observed.get(point.id, ())) > run.precision]
        if not wide:
            break
        jobs = [(instrument, point, repetition) for instrument in measuring for point in wide]
        more += _measure(jobs, plan, report, clock)
    return more


def describe(point: Point) -> str:
    """Returns a configuration as a few words for progress reports. If the configuration has no
    varied keys, returns the name of the scenario."""
    return " ".join(str(value) for value in point.labels.values()) or point.scenario.name


def _predict(
    model: Model,
    training: Sequence[Result],
    points: Sequence[Point],
    store: Store,
    report: Progress,
) -> list[Result]:
    """Fits a model to the results `training`, and returns its predictions for all configurations.
    If there are no training results, the model predicts without a fit.

    If a prediction fails, its configuration gets a failure as its result. If the fit fails, every
    configuration gets a failure.
    """
    assert not any(result.point.held_out for result in training)
    known: dict[str, Result] = {}
    try:
        if training:
            model.fit(training)
            if isinstance(model, BatchModel):
                known = {result.point_id: result for result in model.run_many(points)}
        run: Callable[[Point], Result] = model.run
    except RunFailed as error:
        run = _always(error)
    predicted = []
    for number, point in enumerate(points):
        report(number, len(points), f"{model.name} {describe(point)}")
        try:
            result = known.get(point.id) or run(point)
        except RunFailed as error:
            result = failure(model.name, point, 0, error)
        store.add(result)
        predicted.append(result)
    return predicted


def _share(report: Progress, number: int, count: int) -> Progress:
    """Returns a progress callback for part `number` of `count` equal parts of the work. The
    callback reports the progress of the whole work to `report`."""

    def part(done: float, total: float, text: str, *remaining_s: float) -> None:
        report(number + done / total, count, text, *remaining_s)

    return part


def _always(error: RunFailed) -> Callable[[Point], Result]:
    """Returns a function that raises `error` for every configuration. It replaces the predictions
    of a model whose fit failed."""

    def run(point: Point) -> Result:
        raise error

    return run
