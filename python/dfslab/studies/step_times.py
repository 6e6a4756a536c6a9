"""Compares the measured time of each operation's steps with the predictions of models, by file size
and number of operations.

The study extends Figures 4 and 5 of Wu 2013 by intervals, predictions, and errors at configurations
that the models were not fitted on. A serial fit and a mean serve as baselines for the models.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from pydantic import BaseModel, JsonValue

from dfslab import quantiles
from dfslab.documents import metrics
from dfslab.documents.table import Table, TableCell, count, heads, words
from dfslab.method import CONFIDENCE, RunFailed
from dfslab.models.fit import step_functions, step_terms
from dfslab.models.fit.step_functions import StepFunction
from dfslab.models.fit.step_terms import REST, TERMS, WHOLE
from dfslab.models.tree.prediction import situation_of
from dfslab.result import Metric, Result, Step
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.step_path import StepPath
from dfslab.studies.compare import ErrorScore, score
from dfslab.studies.contract import FinishedRun, Needs, Progress, Study, StudyResult
from dfslab.studies.runs.means import geometric_mean

NAMES = ("operations", "functions")
SIZE = "workload.file_size"
# A measured mean is used to judge predictions only if the half-width of its 90 % interval is at
# most this fraction of the mean. With a less precise mean, an error of 15 % cannot be detected.
NOISE_FLOOR = 0.15
# Times shorter than this number of seconds are not scored. They consist mainly of wake-up latency
# on shared processors. An example is the close after a read, which takes microseconds.
LEAST_TIME_S = 1e-4
# The repetitions of a configuration are called inconsistent if the mean time of any repetition
# differs from the mean of all repetitions by more than this factor.
INCONSISTENT = 2.0
# The interval of a prediction is from prediction / factor to prediction x factor. The factor is
# normally estimated from the method's errors. This factor is used if fewer than two errors are
# known.
UNKNOWN_FACTOR = 3.0
LATENCY = metrics.time_name(metrics.LATENCY, metrics.MEAN)
FITTED = "fitted"
FUNCTIONS: Mapping[str, Sequence[str]] = {
    FITTED: tuple(TERMS),
    "serial": ("1", "clients met"),
    "mean": ("1",),
}
Key = tuple[str, str]
# Predicted step times in seconds: `Modelled[method][point id][operation, step]`.
Modelled = dict[str, dict[str, Mapping[Key, float]]]


class StepAtPoint(BaseModel):
    """One step at one configuration: its measured mean time and the time that each method predicts,
    both in seconds.

    `count`: number of operations in one run. `worst`: the largest factor between a repetition's
    mean time and the mean of all repetitions.
    """

    operation: str
    step: str
    point_id: str
    labels: dict[str, str | int | float | bool]
    held_out: bool
    size_bytes: float
    clients: int
    count: int
    measured: Metric
    repetitions: int
    worst: float
    predictions: dict[str, Metric]

    @property
    def reach(self) -> float:
        """Half-width of the measured mean's 90 % interval, as a fraction of the mean; infinite if
        the mean has no interval."""
        high = self.measured.high
        return float("inf") if high is None else high / self.measured.value - 1

    @property
    def judged(self) -> bool:
        """Whether the measured mean can judge a prediction: it is precise enough and at least
        LEAST_TIME_S long."""
        return self.reach <= NOISE_FLOOR and self.measured.value >= LEAST_TIME_S


class FunctionTerm(BaseModel):
    """One term of a fitted function, with the 90 % interval of its coefficient."""

    term: str
    unit: str
    value: float
    low: float
    high: float


class StepTimeFunction(BaseModel):
    """The time of one step as a fitted function of the file size and the number of operations.

    `relative_sd`: relative standard deviation of the residuals. `points`: number of configurations
    in the fit. `calls`: the inner calls whose time is not included; empty unless the function gives
    a self time. `crossed`: whether the function has a term for network latency, which depends on
    the number of the step's messages that cross the network. `parts`: for a whole operation, the
    steps whose functions are summed; the function of a whole operation has no coefficients.
    """

    operation: str
    step: str
    function: str
    coefficients: list[FunctionTerm]
    relative_sd: float
    points: int
    crossed: bool
    calls: list[str]
    parts: list[str]


class Floor(BaseModel):
    """How precisely the mean times of a step were measured at held-out configurations (the noise
    floor).

    `points`: number of measured means that have an interval. `judged`: number of means that are
    precise enough to be scored. `reach`: the median of (half-width of a mean's 90 % interval /
    mean). Errors of a method that are smaller than `reach` cannot be detected.
    """

    points: int
    judged: int
    reach: float


class Operations(StudyResult):
    """The result of the study `operations`: the measured and predicted times of all steps, and the
    errors of each method for each step.

    Held-out times were measured at configurations on which the models were not fitted. `held_out`:
    scores over the held-out times that are precise enough. `everywhere`: scores over all held-out
    times. `floors`: precision of the held-out times. `below_noise`: number of held-out times that
    are not precise enough. `inconsistent`: number of pairs (step, configuration) whose repetitions
    are inconsistent. `functions`: fitted functions for the times of the reported steps.
    """

    study = "operations"

    steps: list[StepAtPoint]
    held_out: dict[str, dict[str, ErrorScore]]
    everywhere: dict[str, dict[str, ErrorScore]]
    floors: dict[str, Floor]
    below_noise: int
    inconsistent: int
    functions: list[StepTimeFunction] = []

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """Returns a JSON document with the scores and the noise of each step. The times at single
        configurations are shown on the page only."""
        scores: dict[str, JsonValue] = {
            step: {method: one.model_dump(mode="json") for method, one in found.items()}
            for step, found in self.held_out.items()
        }
        floors: dict[str, JsonValue] = {
            step: floor.model_dump(mode="json") for step, floor in self.floors.items()
        }
        return {"held_out_by_step": scores, "noise_floor_by_step": floors}


class StepFunctions(StudyResult):
    """The time of every measured step as a function of the file size and the number of
    operations."""

    study = "functions"
    is_printed_by_run = False

    functions: list[StepTimeFunction]

    def tables(self, run: FinishedRun) -> list[Table]:
        """A table with one row for each function, which shows every coefficient with its
        interval."""
        columns = heads(
            "operation",
            "step",
            "points",
            "residual",
            "function",
            "intervals",
            left=("step", "function", "intervals"),
        )
        rows = [
            (
                words(one.operation),
                words(one.step),
                count(one.points),
                TableCell(one.relative_sd, f"{one.relative_sd:.0%}"),
                words(one.function),
                words(
                    "; ".join(
                        f"{c.term}: {c.low:.3g} to {c.high:.3g}"
                        for c in one.coefficients
                        if c.value > 0
                    )
                ),
            )
            for one in self.functions
        ]
        return [Table("Time of each step, fitted (90 % interval of every factor)", columns, rows)]

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """Returns an empty document: the JSON of `dfslab run` leaves the functions out, because
        `dfslab fit` prints them."""
        return {}


class OperationsStudy(Study[Operations]):
    """Compares the measured time of each step with the times that all methods predict."""

    name = "operations"
    result = Operations
    needs = Needs(measured=True, models=True)
    order = 20

    def run(self, run: FinishedRun, progress: Progress) -> Operations | None:
        """Returns the comparison of all measured steps; None if no step was measured."""
        return operations(run.settled)


class FunctionsStudy(Study[StepFunctions]):
    """Fits the time of every step as a function of the file size and the number of operations."""

    name = "functions"
    result = StepFunctions
    needs = Needs(measured=True, models=True)
    order = 25

    def run(self, run: FinishedRun, progress: Progress) -> StepFunctions:
        """Returns the step functions that the study `operations` fitted. If `operations` has no
        functions, they are fitted here.

        Raises RunFailed if no fit is possible.
        """
        known = run.find(Operations)
        if known is not None and known.functions:
            return StepFunctions(functions=known.functions)
        return StepFunctions(functions=functions(run.settled))


def make(name: str) -> OperationsStudy | FunctionsStudy:
    """Returns the study `operations` or `functions`; study discovery calls this function with
    the study's name."""
    return OperationsStudy() if name == OperationsStudy.name else FunctionsStudy()


def operations(results: Sequence[Result]) -> Operations | None:
    """Compares the steps of the measured results with the predictions in `results`.

    Returns None if no step was measured.
    """
    measured = [whole(r) for r in results if r.method == "measure" and r.complete and r.steps]
    if not measured:
        return None
    requested = {(s.operation, s.step) for result in measured for s in result.steps}
    fitted_on = [result for result in measured if not result.point.held_out]
    scenarios = {result.point_id: result.point.scenario for result in measured}
    modelled = _modelled(results, requested)
    found = _measured(measured)
    _add_models(found, modelled)
    fitted = {
        name: _add_functions(found, fitted_on, scenarios, name, terms)
        for name, terms in FUNCTIONS.items()
    }
    reported = {(s.operation, s.step) for r in results if r.method == "measure" for s in r.steps}
    held = [one for one in found if one.held_out]
    return Operations(
        steps=found,
        held_out=_scores([one for one in held if one.judged]),
        everywhere=_scores(held),
        floors=_floors(held),
        below_noise=sum(not one.judged for one in held),
        inconsistent=sum(one.worst > INCONSISTENT for one in found),
        functions=[_function(f) for f in fitted[FITTED] if (f.operation, f.step) in reported],
    )


def functions(results: Sequence[Result]) -> list[StepTimeFunction]:
    """Returns the fitted functions f1 to f7 of Wu 2013 for every measured step. Each function gives
    the time of a step as a function of the file size and the number of operations. Raises RunFailed
    if no function can be fitted."""
    return [_function(f) for f in step_functions.fit([r for r in results if not r.point.held_out])]


def _function(fitted: StepFunction) -> StepTimeFunction:
    return StepTimeFunction.model_validate(fitted.document())


def whole(result: Result, requested: Iterable[Key] = ()) -> Result:
    """Returns the result with further steps added to each operation. The step "whole" is the whole
    operation. For each outer step OUTER, the step "OUTER/rest" is its self time, without its inner
    calls.

    `requested`: the inner calls to subtract; if it is empty, all inner calls of the result are
    subtracted.
    """
    times = {(s.operation, s.step): s for s in result.steps}
    inside: dict[Key, float] = {}
    for operation, name in requested or times:
        path = StepPath.read(name)
        outer = str(path.outermost)
        is_inner = not path.is_outermost and path.names[1:] != (REST,)
        if is_inner and (operation, outer) in times:
            known = times.get((operation, name))
            before = inside.get((operation, outer), 0.0)
            inside[operation, outer] = before + (known.time_s_mean if known else 0.0)
    rest = [
        Step(
            operation=o,
            step=str(StepPath.read(s).inner(REST)),
            count=times[o, s].count,
            time_s_mean=max(0.0, times[o, s].time_s_mean - time),
        )
        for (o, s), time in inside.items()
    ]
    both = [
        Step(operation=key.operation, step=WHOLE, time_s_mean=metric.value, count=1)
        for name, metric in result.metrics.items()
        if (key := metrics.parsed(name)).name == LATENCY and key.operation
    ]
    return result.model_copy(update={"steps": [*both, *result.steps, *rest]})


def _modelled(results: Sequence[Result], requested: set[Key]) -> Modelled:
    """The step times in seconds that each model predicts at each point."""
    found: Modelled = {}
    for result in results:
        if result.method not in ("measure", "trace") and result.steps:
            times = {(s.operation, s.step): s.time_s_mean for s in whole(result, requested).steps}
            found.setdefault(result.method, {})[result.point_id] = times
    return found


def _measured(measured: Sequence[Result]) -> list[StepAtPoint]:
    groups: dict[tuple[str, Key], list[float]] = {}
    points: dict[str, Result] = {}
    for result in measured:
        points[result.point_id] = result
        for step in result.steps:
            if step.time_s_mean > 0:
                key = (result.point_id, (step.operation, step.step))
                groups.setdefault(key, []).append(step.time_s_mean)
    found = []
    for (point_id, (operation, name)), times in groups.items():
        result = points[point_id]
        values = situation_of(result.point.scenario).environment
        mean = geometric_mean(times)
        found.append(
            StepAtPoint(
                operation=operation,
                step=name,
                point_id=point_id,
                labels=dict(result.labels),
                held_out=result.point.held_out,
                size_bytes=values["file_size"],
                clients=result.point.scenario.workload.clients,
                count=_count(result, operation),
                measured=mean,
                repetitions=len(times),
                predictions={},
                worst=max(max(time / mean.value, mean.value / time) for time in times),
            )
        )
    return found


def _count(result: Result, operation: str) -> int:
    counted = result.load.operations.get(operation) if result.load else None
    if counted and counted.count:
        return counted.count
    return int(sum(s.count for s in result.steps if s.operation == operation))


def _add_models(found: Sequence[StepAtPoint], modelled: Modelled) -> None:
    """Adds the step times that each method predicts, with their intervals, to `found`.

    The intervals are computed from the method's errors at the configurations on which the method
    was fitted.
    """
    for method, points in modelled.items():
        errors: dict[Key, list[float]] = {}
        predicted = []
        for one in found:
            key = (one.operation, one.step)
            time = points.get(one.point_id, {}).get(key, 0.0)
            if time > 0:
                predicted.append((one, key, time))
                if not one.held_out:
                    errors.setdefault(key, []).append(float(np.log(time / one.measured.value)))
        for one, key, time in predicted:
            factor = _interval_factor(errors.get(key, []))
            one.predictions[method] = Metric(value=time, low=time / factor, high=time * factor)


def _interval_factor(errors: Sequence[float]) -> float:
    """Returns the factor between a prediction and each end of its 90 % interval. Returns
    UNKNOWN_FACTOR if fewer than two errors are known.

    `errors`: natural logarithms of predicted / measured time. The interval is wider if the errors
    scatter more, or if their mean is further from 0.
    """
    if len(errors) < 2:
        return UNKNOWN_FACTOR
    quantile = quantiles.student(0.5 + CONFIDENCE / 2, len(errors) - 1)
    return float(np.exp(quantile * np.sqrt(np.mean(np.square(errors)))))


def _add_functions(
    found: Sequence[StepAtPoint],
    fitted_on: Sequence[Result],
    scenarios: Mapping[str, Scenario],
    name: str,
    terms: Sequence[str],
) -> list[StepFunction]:
    """Fits step functions to `fitted_on`, and adds their predictions to `found` under the method's
    name `name`. Returns the functions; an empty list if no function can be fitted.

    `terms`: the terms of the function to fit: those of f1 to f7 of Wu 2013, or fewer for a
    baseline.
    """
    try:
        fitted = step_functions.fit(fitted_on, only=terms)
    except RunFailed:
        return []
    functions = {(f.operation, f.step): f for f in fitted}
    ats: dict[Key, step_terms.TermValues] = {}
    for one in found:
        function = functions.get((one.operation, one.step))
        if function is not None:
            at = (one.point_id, one.operation)
            if at not in ats:
                ats[at] = step_terms.TermValues(scenarios[one.point_id], one.operation)
            time, low, high = function.time_at_s(ats[at])
            if time > 0:
                one.predictions[name] = Metric(value=time, low=low, high=high)
    return fitted


def _floors(held: Sequence[StepAtPoint]) -> dict[str, Floor]:
    groups: dict[str, list[StepAtPoint]] = {}
    for one in held:
        if np.isfinite(one.reach):
            for name in (f"{one.operation}: {one.step}", "all"):
                groups.setdefault(name, []).append(one)
    return {
        name: Floor(
            points=len(ones),
            judged=sum(one.judged for one in ones),
            reach=float(np.median([one.reach for one in ones])),
        )
        for name, ones in groups.items()
    }


def _scores(found: Sequence[StepAtPoint]) -> dict[str, dict[str, ErrorScore]]:
    """Returns the score of each method for each step, as {step: {method: score}}. The additional
    step "all" has the scores over all steps."""
    groups: dict[str, dict[str, list[StepAtPoint]]] = {}
    for one in found:
        for step in (f"{one.operation}: {one.step}", "all"):
            for method in one.predictions:
                groups.setdefault(step, {}).setdefault(method, []).append(one)
    return {
        step: {
            method: score(
                [one.predictions[method].value / one.measured.value - 1 for one in ones],
                [_covers(one.predictions[method], one.measured.value) for one in ones],
            )
            for method, ones in methods.items()
        }
        for step, methods in groups.items()
    }


def _covers(predicted: Metric, value: float) -> bool:
    return (
        predicted.low is not None
        and predicted.high is not None
        and predicted.low <= value <= predicted.high
    )
