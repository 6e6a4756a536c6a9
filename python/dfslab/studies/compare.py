"""Compares the predictions of all methods with the measurements: signed errors, scores on
held-out configurations, and coverage of the intervals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from pydantic import BaseModel, JsonValue

from dfslab import discover, quantiles
from dfslab.documents.metrics import LATENCY, RATE, operations_with
from dfslab.documents.table import Table, TableCell, absent, estimate, heads, number, words
from dfslab.result import Metric, Result, Step
from dfslab.spec import units
from dfslab.studies.checks.noise import noise_of
from dfslab.studies.contract import FinishedRun, Needs, Progress, Study, StudyResult
from dfslab.studies.runs.means import geometric_mean

NAMES = ("comparison",)


class ComparedPoint(BaseModel):
    """Measured and predicted values of one configuration. `predictions`: the predicted value of
    each method. `errors`: the error of each method, predicted / measured - 1. `repetitions`: number
    of complete measurements. `steps`: the times of the steps for each method; the key "measure" has
    the means over the measurements."""

    point_id: str
    labels: dict[str, str | int | float | bool]
    operations: list[str]
    held_out: bool
    measured: Metric
    repetitions: int
    predictions: dict[str, Metric]
    errors: dict[str, float]
    steps: dict[str, list[Step]]


class ErrorScore(BaseModel):
    """The errors of one method over `n` configurations, as fractions.

    `coverage_90`: fraction of the configurations whose measured mean lies in the method's 90 %
    interval.
    """

    n: int
    median_abs_error: float
    p90_abs_error: float
    coverage_90: float
    median_signed_error: float


class Comparison(StudyResult):
    """The result of the study `comparison`: all compared configurations, and the scores of every
    method.

    `noise`: relative standard deviation between repetitions, as a fraction (see `noise_of`); 0 if
    nothing was repeated. `held_out`: the score of each method over the held-out configurations.
    `fitted`: its score over all other configurations.
    """

    study = "comparison"
    stands_for_results = True

    metric: str
    rows: list[ComparedPoint]
    held_out: dict[str, ErrorScore]
    fitted: dict[str, ErrorScore]
    noise: float

    def tables(self, run: FinishedRun) -> list[Table]:
        """Returns a table of measured and predicted rates. If configurations are held out, also
        returns a table of the errors on these configurations."""
        found = [_rates(self, run)]
        if self.held_out:
            found.append(score_table("Errors on held-out configurations", self.held_out))
        return found

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """The JSON document: metric, scores and noise.

        Its key `points` has the compared configurations (`rows`).
        """
        found = self.model_dump(mode="json")
        found["points"] = found.pop("rows")
        return found


def _rates(comparison: Comparison, run: FinishedRun) -> Table:
    methods = run.methods
    return Table(
        "Operations per second, measured and predicted (90 % interval, error)",
        heads("configuration", "measured", *methods),
        [
            (
                words(run.name(row.labels) + (" *" if row.held_out else "")),
                number(row.measured.value),
                *(_predicted(row, method) for method in methods),
            )
            for row in comparison.rows
        ],
        notes=["* held out: never fitted on"],
        marked=frozenset(i for i, row in enumerate(comparison.rows) if row.held_out),
    )


def _predicted(row: ComparedPoint, method: str) -> TableCell:
    """Returns a table cell with a method's predicted value, its interval and its signed error; a
    dash if the method has no prediction."""
    metric = row.predictions.get(method)
    if metric is None:
        return absent()
    shown = estimate(metric.value, metric.low, metric.high)
    error = row.errors.get(method)
    return shown if error is None else replace(shown, note=f"{error:+.0%}")


def score_table(title: str, scores: Mapping[str, ErrorScore]) -> Table:
    """A table with one row for each method: its error quantiles and the coverage of its 90 %
    intervals."""
    columns = heads(
        "method", "points", "median |error|", "90 % |error|", "signed median", "90 % coverage"
    )
    rows = [
        (
            words(method),
            TableCell(one.n, str(one.n)),
            TableCell(one.median_abs_error, f"{one.median_abs_error:.1%}"),
            TableCell(one.p90_abs_error, f"{one.p90_abs_error:.1%}"),
            TableCell(one.median_signed_error, f"{one.median_signed_error:+.1%}"),
            TableCell(one.coverage_90, f"{one.coverage_90:.0%}"),
        )
        for method, one in scores.items()
    ]
    return Table(title, columns, rows)


class ComparisonStudy(Study[Comparison]):
    """Compares the rates that all methods predict with the measured rates."""

    name = "comparison"
    result = Comparison
    needs = Needs(measured=True, models=True)
    order = 10

    def run(self, run: FinishedRun, progress: Progress) -> Comparison:
        """The comparison of all results of the run."""
        return compare(run.settled)


def make(name: str) -> ComparisonStudy:
    """Returns the study `comparison`; study discovery calls this function with the study's name."""
    return ComparisonStudy()


def compare(results: Sequence[Result], metric: str = RATE) -> Comparison:
    """Compares the predictions of all methods with the measurements.

    `metric`: name of the compared metric.
    """
    by_point: dict[str, list[Result]] = {}
    for result in results:
        by_point.setdefault(result.point_id, []).append(result)
    rows = [row for group in by_point.values() if (row := _row(group, metric)) is not None]
    rows.sort(key=lambda row: sort_key(row.labels))
    return Comparison(
        metric=metric,
        rows=rows,
        held_out=scores([row for row in rows if row.held_out]),
        fitted=scores([row for row in rows if not row.held_out]),
        noise=noise_of(results, metric) or 0.0,
    )


def sort_key(labels: Mapping[str, Hashable]) -> list[tuple[int, float, str]]:
    """Returns the key by which configurations are sorted. The key has one entry for each value of
    `labels`, in the order of `labels`. Plain numbers come first, ordered by value. Quantities with
    a unit follow, ordered by value in SI units. Other texts come last, in alphabetical order."""
    return [_sortable(value) for value in labels.values()]


def is_ordered(value: Hashable) -> bool:
    """Returns whether a value of a configuration is a number or a quantity with a unit. Only such
    values can lie between two other values."""
    return not isinstance(value, bool) and _sortable(value)[0] < 2


@lru_cache(maxsize=65536, typed=True)
def _sortable(value: Hashable) -> tuple[int, float, str]:
    if isinstance(value, int | float):
        return (0, float(value), "")
    for unit in ("B", "s", "B/s", "Hz"):
        try:
            return (1, units.parse(str(value), unit), unit)
        except ValueError:
            continue
    return (2, 0.0, str(value))


def _row(group: Sequence[Result], metric: str) -> ComparedPoint | None:
    measured = [r for r in group if r.method == "measure" and r.complete and metric in r.metrics]
    if not measured:
        return None
    mean = geometric_mean([result.value(metric) for result in measured])
    predicted = {
        r.method: r for r in group if not discover.is_instrument(r.method) and metric in r.metrics
    }
    point = measured[0].point
    operations = sorted(set(operations_with(measured[0].metrics, LATENCY)))
    return ComparedPoint(
        point_id=point.id,
        labels=point.labels,
        operations=operations,
        held_out=point.held_out,
        measured=mean,
        repetitions=len(measured),
        predictions={name: result.metrics[metric] for name, result in predicted.items()},
        errors={name: result.value(metric) / mean.value - 1 for name, result in predicted.items()},
        steps={"measure": _mean_steps(measured), **{n: r.steps for n, r in predicted.items()}},
    )


def _mean_steps(measured: Sequence[Result]) -> list[Step]:
    times: dict[tuple[str, str], list[Step]] = {}
    for result in measured:
        for step in result.steps:
            times.setdefault((step.operation, step.step), []).append(step)
    return [
        Step(
            operation=operation,
            step=name,
            time_s_mean=float(np.mean([s.time_s_mean for s in steps])),
            count=sum(s.count for s in steps),
        )
        for (operation, name), steps in times.items()
    ]


def scores(rows: Sequence[ComparedPoint]) -> dict[str, ErrorScore]:
    """Returns a dictionary from each method's name to its score. A score covers only those rows for
    which the method has a prediction."""
    methods = dict.fromkeys(method for row in rows for method in row.errors)
    return {
        method: score(
            [row.errors[method] for row in rows if method in row.errors],
            [_covers(row, method) for row in rows if method in row.errors],
        )
        for method in methods
    }


def _covers(row: ComparedPoint, method: str) -> bool:
    metric = row.predictions[method]
    if metric.low is None or metric.high is None:
        return False
    return metric.low <= row.measured.value <= metric.high


def score(errors: Sequence[float], covered: Sequence[bool]) -> ErrorScore:
    """Returns the score of one method.

    `errors`: the method's signed errors (fractions). `covered`: for each error, whether the
    method's interval contains the measured mean.
    """
    signed = np.asarray(errors, dtype=float)
    return ErrorScore(
        n=len(signed),
        median_abs_error=float(np.median(np.abs(signed))),
        p90_abs_error=quantiles.p90(list(np.abs(signed))),
        coverage_90=float(np.mean(covered)),
        median_signed_error=float(np.median(signed)),
    )
