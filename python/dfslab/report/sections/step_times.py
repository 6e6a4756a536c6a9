"""Renders the section on step times against file size and number of files, as in Figures 4 and 5
of Wu 2013, with predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from dfslab.documents.table import (
    DASH,
    Tab,
    Table,
    TableCell,
    Value,
    absent,
    count,
    heads,
    percent,
    percent_text,
    seconds_text,
    signed,
    words,
)
from dfslab.method import BASELINES
from dfslab.models.fit.step_terms import WHOLE
from dfslab.report.charts import palette
from dfslab.report.charts.figure import MARKS, Axis, Panel, Series
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import contents, drawn, folded, heading, note
from dfslab.result import Metric
from dfslab.studies.compare import ErrorScore, sort_key
from dfslab.studies.contract import FinishedRun
from dfslab.studies.step_times import (
    FITTED,
    LEAST_TIME_S,
    NOISE_FLOOR,
    SIZE,
    Operations,
    StepAtPoint,
)

TITLE = "Operations by size and count"
ORDER = 44
EMPTY = "No step was measured at four file sizes or more."
FEWEST_SIZES = 4
# Margin of the time axis. The axis begins at the smallest time divided by this factor, and ends at
# the largest time multiplied by this factor. The value is a choice for legibility.
LIMIT_MARGIN = 4.0
COUNTS = ("workload.clients", "workload.operations_per_client", "workload.data_per_client")
NOTE = (
    "Mean time of one file in each step, against the size of the file. Points are measured, with "
    "90 % intervals over repetitions, filled where the configuration was held out. Lines are "
    "models, in the area of their 90 % intervals, which ends at the edge of the chart. The number "
    "of files of a point appears under the pointer. Where a size was run by several numbers of "
    "clients, the fewer clients have a line and squares. OUTER/INNER is a call within a step; "
    "OUTER/rest is the time that the step takes without such calls."
)
ALL_NOTE = (
    "As Wu 2013 draws it: the time of all files of a run, one after the other. If the number of "
    "files is fixed, the time grows with their size. If the total amount of data is fixed, it "
    "falls with the number of files until a single file remains."
)

NO_LAW = (
    "No law found for these steps: {}. Their fitted function is no better than the mean of the "
    "measurements, so it is not drawn."
)
UNJUDGED = "Rows left out because all their held-out times are below the noise: {}."


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML. For each deployment, the HTML has a chart of every step for one file, and a
    chart of every step for all files of a run. A table of errors follows.

    Returns None if fewer than FEWEST_SIZES file sizes were measured, or if the file size was not
    varied.
    """
    found = study.find(Operations)
    if found is None or len({one.size_bytes for one in found.steps}) < FEWEST_SIZES:
        return None
    steps = [one for one in found.steps if SIZE in one.labels]
    if not steps:
        return None
    parts = [note(NOTE)]
    steps.sort(key=lambda one: sort_key(_deployed(one)))
    for name, ones in _grouped(steps, lambda one: _deployment(study, one)).items():
        parts += [heading(name), _each(ones, name), _together(ones, name)]
    parts += [_consistency(found), _errors(found), contents(_table(study, steps))]
    return Markup("").join(parts)


def _grouped(ones: Sequence[StepAtPoint], key: Any) -> dict[str, list[StepAtPoint]]:
    groups: dict[str, list[StepAtPoint]] = {}
    for one in ones:
        groups.setdefault(key(one), []).append(one)
    return groups


def _deployed(one: StepAtPoint) -> dict[str, Value]:
    """Returns the varied keys and values of a configuration. The file size and the keys in COUNTS
    (numbers of clients, operations and bytes) are left out."""
    return {k: v for k, v in one.labels.items() if k != SIZE and k not in COUNTS}


def _deployment(study: FinishedRun, one: StepAtPoint) -> str:
    labels = _deployed(one)
    return study.name(labels) if labels else "All configurations"


def _step(one: StepAtPoint) -> str:
    return f"{one.operation}: {one.step}"


def _each(ones: Sequence[StepAtPoint], name: str) -> Markup:
    """Returns the HTML of a chart with one panel for each step. A panel shows the time of one file
    against the file's size. If the fitted function of a step is no better than the mean, the
    function is not drawn, and a sentence names the step."""
    steps = _grouped(ones, _step)
    lawless = [step for step, of in steps.items() if not is_law(of)]
    panels = [
        Panel(
            step,
            [
                one
                for method in _methods(of)
                if method != FITTED or step not in lawless
                for one in _curves(of, method)
            ]
            + points_of(of),
        )
        for step, of in steps.items()
    ]
    chart = figure(
        panels,
        Axis("file size", "B", log=True),
        Axis("time of one file", "s", log=True, limits=_limits(ones)),
        f"time of each step against file size, {name}",
    )
    return chart + (note(NO_LAW.format("; ".join(lawless))) if lawless else Markup(""))


def is_law(ones: Sequence[StepAtPoint]) -> bool:
    """Returns whether the function that was fitted to the times of one step describes them better
    than the mean does. The function is better if its mean square of ln(predicted / measured) is
    smaller. True if the function or the mean is not known."""

    def error(method: str) -> float:
        found = [
            math.log(one.predictions[method].value / one.measured.value) ** 2
            for one in ones
            if method in one.predictions
            and one.predictions[method].value > 0
            and one.measured.value > 0
        ]
        return float(np.mean(found)) if found else math.nan

    return not error(FITTED) >= error("mean")


def _limits(ones: Sequence[StepAtPoint]) -> tuple[float, float] | None:
    """Returns (lower end, upper end) of the time axis in seconds; None if no time is positive. The
    ends are the smallest and the largest measured or predicted time, with a margin.

    Intervals of predictions do not count and may be cut. If a fitted function does not match the
    data, its interval spans many decades.
    """
    times = [one.measured.value for one in ones]
    times += [found.value for one in ones for found in one.predictions.values()]
    known = [time for time in times if time > 0]
    return (min(known) / LIMIT_MARGIN, max(known) * LIMIT_MARGIN) if known else None


def _methods(ones: Sequence[StepAtPoint]) -> list[str]:
    stated = dict.fromkeys(method for one in ones for method in one.predictions)
    return [method for method in stated if method not in BASELINES]


def lines_of(ones: Sequence[StepAtPoint]) -> list[list[StepAtPoint]]:
    """Groups configurations into lines of a chart over the file size. A line has each size at most
    once.

    The configurations of one size are sorted: by the number of clients, then by the number of
    operations, the largest first. The first configuration of each size belongs to the first line,
    the second to the second line, and so on.
    """
    lines: dict[int, list[StepAtPoint]] = {}
    for of in _grouped(ones, lambda one: one.size_bytes).values():
        most_first = sorted(of, key=lambda one: (-one.clients, -one.count, one.point_id))
        for place, one in enumerate(most_first):
            lines.setdefault(place, []).append(one)
    return [sorted(line, key=lambda one: one.size_bytes) for line in lines.values()]


def gapped(
    lines: Sequence[Sequence[StepAtPoint]], value: Callable[[StepAtPoint], float | None]
) -> list[float | None]:
    """Returns the values of all lines in one list, with a None between two lines, so that the chart
    does not join them. `value`: function that reads the value of one configuration."""
    return [shown for line in lines for shown in (*map(value, line), None)][:-1]


def _curves(ones: Sequence[StepAtPoint], method: str) -> list[Series]:
    """Returns the predicted lines of one method, each with its interval as an area behind it."""
    colour = palette.of_method(method)
    return [
        Series(
            f"{method}, 90 % interval",
            colour,
            [one.size_bytes for one in line],
            [one.predictions[method].value for one in line],
            line="solid",
            low=[one.predictions[method].low for one in line],
            high=[one.predictions[method].high for one in line],
            band=True,
            hints=[f"{method}: {_interval(one.predictions[method])}" for one in line],
        )
        for line in lines_of([one for one in ones if method in one.predictions])
    ]


def points_of(ones: Sequence[StepAtPoint]) -> list[Series]:
    """Returns the measured times as series of points with their intervals. For each file size, the
    first series has the configuration with the most clients. The second series has the next
    configuration in the order of `lines_of`, and so on."""
    return [
        Series(
            "measured" if not place else "measured, fewer clients",
            palette.MEASURED,
            [one.size_bytes for one in line],
            [one.measured.value for one in line],
            mark=MARKS[place % len(MARKS)],
            hollow=[not one.held_out for one in line],
            low=[one.measured.low for one in line],
            high=[one.measured.high for one in line],
            hints=[
                f"{one.count} files, {one.clients} at a time: {_interval(one.measured)}"
                for one in line
            ],
        )
        for place, line in enumerate(lines_of(ones))
    ]


def _together(ones: Sequence[StepAtPoint], name: str) -> Markup:
    """Returns the HTML of a chart with one panel for each step. A panel shows the time of all files
    of a run, as in Wu 2013's figures."""
    shown = [(step, of) for step, of in _grouped(ones, _step).items() if not step.endswith("/rest")]
    panels = []
    for step, of in shown:
        lines = lines_of(of)
        series = Series(
            "",
            palette.MEASURED,
            gapped(lines, lambda one: one.size_bytes),
            gapped(lines, lambda one: one.measured.value * one.count),
            line="solid",
            mark="circle",
        )
        panels.append(Panel(step, [series]))
    chart = figure(
        panels,
        Axis("file size", "B", log=True),
        Axis("time of all files", "s", log=True),
        f"time of all files of a run by step, {name}",
    )
    return folded("The total time of all files of a run", note(ALL_NOTE) + chart)


def _consistency(found: Operations) -> Markup:
    several = sum(one.repetitions > 1 for one in found.steps)
    if not several:
        return note("Consistency: no time was repeated.")
    return note(
        f"Consistency: of {several} times that were repeated, {found.inconsistent} had a "
        "repetition that differed by more than a factor of two from the mean of all."
    )


def _errors(found: Operations) -> Markup:
    """Returns the HTML of a table with a row for each step and each method or baseline. A row has
    two kinds of errors: on held-out configurations, and on all configurations. Rows without a
    held-out time above the noise are left out and counted. The result is empty if no errors are
    known."""
    if not found.everywhere:
        return Markup("")
    rows = []
    unjudged = 0
    for step, scores in sorted(found.everywhere.items(), key=_rank):
        floor = found.floors.get(step)
        for method, anywhere in _ordered(scores):
            judged = found.held_out.get(step, {}).get(method)
            if judged is None or judged.n == 0:
                unjudged += 1
                continue
            rows.append(
                [
                    words(step),
                    words(method),
                    words(f"{judged.n} of {anywhere.n}"),
                    *_scores(judged),
                    percent(anywhere.median_abs_error),
                    _coverage(anywhere),
                    TableCell(floor.reach, f"±{percent_text(floor.reach)}") if floor else absent(),
                ]
            )
    columns = heads(
        "step",
        "method",
        "points above the noise",
        "median |error|",
        "90 % |error|",
        "signed median",
        "90 % coverage",
        "median |error| of all",
        "90 % coverage of all",
        "half-width of a mean",
        left=["method"],
    )
    shown = note(
        "File sizes and deployments on which nothing was fitted. Below the noise are "
        f"{found.below_noise} held-out times whose measured mean has an interval wider than "
        f"±{NOISE_FLOOR:.0%}, or is below the {seconds_text(LEAST_TIME_S)} that waking a thread "
        "takes; the columns “of all” include these times. The last column is the median half-width "
        "of the interval of a measured mean. fitted: f1 to f7 of Wu 2013; serial: functions of the "
        "number of clients only; mean: constants."
    )
    title = "Errors on held-out operating points"
    table = shown + drawn(Table(title, columns, rows)) if rows else Markup("")
    missing = note(UNJUDGED.format(unjudged)) if unjudged else Markup("")
    return heading(title) + table + missing


def _scores(judged: ErrorScore) -> list[TableCell]:
    return [
        percent(judged.median_abs_error),
        percent(judged.p90_abs_error),
        signed(judged.median_signed_error),
        _coverage(judged),
    ]


def _coverage(score: ErrorScore) -> TableCell:
    return TableCell(score.coverage_90, f"{score.coverage_90:.0%}")


def _rank(scored: tuple[str, Any]) -> tuple[bool, bool, str]:
    """Returns the sort key of a table row: whole operations come first, then their steps, and the
    row "all" comes last."""
    step, _ = scored
    return step == "all", not step.endswith(f": {WHOLE}"), step


def _ordered(scores: Mapping[str, ErrorScore]) -> list[tuple[str, ErrorScore]]:
    return sorted(scores.items(), key=lambda one: (one[0] in BASELINES, one[1].median_abs_error))


def _table(study: FinishedRun, steps: Sequence[StepAtPoint]) -> Table:
    methods = list(dict.fromkeys(method for one in steps for method in one.predictions))
    rows = [
        [
            words(study.name(one.labels)),
            words(_step(one)),
            count(one.count),
            _cell(one.measured),
            *(_cell(one.predictions.get(method)) for method in methods),
        ]
        for one in steps
    ]
    columns = heads("configuration", "step", "files", "measured", *methods, left=["step"])
    held = frozenset(place for place, one in enumerate(steps) if one.held_out)
    title = f"All {len(rows)} times as a table"
    return Table("Times", columns, rows, marked=held, folded=title)


def _cell(metric: Metric | None) -> TableCell:
    if metric is None:
        return absent()
    return TableCell(metric.value, _interval(metric), low=metric.low, high=metric.high)


def _interval(metric: Metric) -> str:
    shown, low, high = map(seconds_text, (metric.value, metric.low, metric.high))
    return shown if DASH in (low, high) else f"{shown} ({low} to {high})"


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.TIME)
