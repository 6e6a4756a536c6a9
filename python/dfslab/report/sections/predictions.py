"""Renders the section that shows every configuration with its measured rate, the predictions with
intervals, and the signed errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from dfslab.documents.table import Name, Tab, Table, heads, number_text, signed_text, words
from dfslab.method import BASELINES
from dfslab.report.charts import palette
from dfslab.report.charts.figure import MARKS, Axis, Panel, Series
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import FAR_OFF, drawn, estimated, note
from dfslab.studies.compare import ComparedPoint, Comparison
from dfslab.studies.contract import FinishedRun

TITLE = "Predictions"
ORDER = 50
EMPTY = "Nothing was both measured and predicted."
NOTE = (
    "Operations per second; 90 % intervals below each value. Marked rows (*) were held out: no "
    "model was fitted on them. Errors are predicted / measured − 1, in colour beyond ±25 %."
)


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: the parity plot and the table, in which held-out configurations are marked.

    None if nothing was compared.
    """
    comparison = study.find(Comparison)
    if comparison is None or not comparison.rows:
        return None
    methods = [m for m in study.methods if any(m in r.predictions for r in comparison.rows)]
    if not methods:
        return None
    table = _table(comparison, methods, study.name)
    return _parity(comparison, methods, study.name) + note(NOTE) + drawn(table)


def _table(comparison: Comparison, methods: Sequence[str], name: Name) -> Table:
    """Returns the table of the measured and the predicted rate of every configuration."""
    rows = []
    for row in comparison.rows:
        cells = [estimated(row.predictions.get(m), row.errors.get(m)) for m in methods]
        labels = name(row.labels) + (" *" if row.held_out else "")
        rows.append([words(labels), estimated(row.measured), *cells])
    held = frozenset(place for place, row in enumerate(comparison.rows) if row.held_out)
    return Table(TITLE, heads("configuration", "measured", *methods), rows, marked=held)


def _drawable(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _parity(comparison: Comparison, methods: list[str], name: Name) -> Markup:
    """Returns the HTML of the parity plot: predicted against measured values, with one panel for
    each model.

    Dotted lines mark an error of 25 %. Baselines have no panel, because they would stretch the
    axes; the table below the plot has them.
    """
    values = [row.measured.value for row in comparison.rows if _drawable(row.measured.value)]
    if not values:
        return Markup("")
    ends = (min(values) / 1.6, max(values) * 1.6)
    models = [method for method in methods if method not in BASELINES]
    panels = []
    for place, method in enumerate(models):
        points = [
            _points(rows, method, held, name, place)
            for held in (True, False)
            if (rows := _rows_of(comparison, method, held))
        ]
        if points:
            panels.append(Panel(method, [*_lines(ends), *points]))
    return figure(
        panels,
        Axis("measured operations per second", "1/s", log=True, limits=ends),
        Axis("predicted operations per second", "1/s", log=True, limits=ends),
        "predicted against measured rates",
    )


def _rows_of(comparison: Comparison, method: str, held: bool) -> list[ComparedPoint]:
    """Returns the configurations whose measured value and whose prediction by `method` are above 0.
    If `held` is true, only held-out configurations are returned; otherwise only configurations that
    were not held out."""
    return [
        row
        for row in comparison.rows
        if row.held_out == held
        and method in row.predictions
        and _drawable(row.measured.value)
        and _drawable(row.predictions[method].value)
    ]


def _lines(ends: tuple[float, float]) -> list[Series]:
    """Returns the line on which predicted and measured values are equal, and the lines of an error
    of 25 %."""
    factors = ((1.0, "predicted = measured"), (1 + FAR_OFF, "±25 %"), (1 - FAR_OFF, "±25 %"))
    return [
        Series(
            text,
            palette.REFERENCE,
            list(ends),
            [end * factor for end in ends],
            line="solid" if factor == 1 else "dot",
        )
        for factor, text in factors
    ]


def _points(
    rows: Sequence[ComparedPoint], method: str, held: bool, name: Name, place: int
) -> Series:
    return Series(
        f"{method}, held out" if held else method,
        palette.of_method(method),
        [row.measured.value for row in rows],
        [row.predictions[method].value for row in rows],
        mark=MARKS[place % len(MARKS)],
        hollow=[not held] * len(rows),
        hints=[_hover(row, method, name) for row in rows],
    )


def _hover(row: ComparedPoint, method: str, name: Name) -> str:
    one = row.predictions[method]
    bounds = ""
    if one.low is not None and one.high is not None:
        bounds = f" ({number_text(one.low)} to {number_text(one.high)})"
    return (
        f"{name(row.labels)}: {method} {number_text(one.value)}{bounds}, measured "
        f"{number_text(row.measured.value)}, error {signed_text(row.errors.get(method))}"
    )


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.MODELS, is_general=True)
