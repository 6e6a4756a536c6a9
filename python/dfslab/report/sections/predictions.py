"""Renders the section on every configuration: measured rate, predictions with intervals, and
signed errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from dfslab.documents.table import Name
from dfslab.report.contract import PageSection
from dfslab.report.figure import ChartLayout, Curve
from dfslab.report.page_table import FAR_OFF, note, number, predicted, signed, table
from dfslab.report.plot import INK, SYMBOLS, chart, colour, heading, log_axis, words
from dfslab.studies.compare import BASELINES, ComparedPoint, Comparison
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
    rows: list[list[Any]] = []
    for row in comparison.rows:
        labels = study.name(row.labels)
        cells = [predicted(row.predictions.get(m), row.errors.get(m)) for m in methods]
        rows.append([labels + (" *" if row.held_out else ""), predicted(row.measured), *cells])
    held = [row.held_out for row in comparison.rows]
    body = table(["configuration", "measured", *methods], rows, held)
    return _parity(comparison, methods, study.name) + note(NOTE) + body


def _drawable(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _parity(comparison: Comparison, methods: list[str], name: Name) -> Markup:
    """HTML of the parity plot, which shows predicted against measured values.

    Dashed lines mark an error of 25 %.
    """
    values = [row.measured.value for row in comparison.rows if _drawable(row.measured.value)]
    if not values:
        return Markup("")
    ends = [min(values) / 1.6, max(values) * 1.6]
    data: list[Curve] = [
        _line(ends, 1.0, "predicted = measured", "solid"),
        _line(ends, 1 + FAR_OFF, "±25 %", "dot"),
        {**_line(ends, 1 - FAR_OFF, "±25 %", "dot"), "showlegend": False},
    ]
    for method in methods:
        for held in (True, False):
            rows = [
                r
                for r in comparison.rows
                if r.held_out == held
                and method in r.predictions
                and _drawable(r.measured.value)
                and _drawable(r.predictions[method].value)
            ]
            if rows:
                data.append(_points(rows, method, held, name))
    layout: ChartLayout = {
        "title": heading("Predicted against measured; filled marks were held out"),
        "xaxis": log_axis("measured operations per second", values),
        "yaxis": log_axis("predicted operations per second", values),
        "height": 560,
        "margin": {"l": 80, "r": 20, "t": 36, "b": 60},
        "legend": {"orientation": "v", "x": 1.01, "xanchor": "left", "y": 1, "yanchor": "top"},
    }
    return chart(data, layout, "predicted against measured rates of every method")


def _line(ends: Sequence[float], factor: float, name: str, dash: str) -> Curve:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(ends),
        "y": [end * factor for end in ends],
        "line": {"color": "#888888", "width": 1.2, "dash": dash},
        "name": name,
        "legendgroup": name,
        "hoverinfo": "skip",
    }


def _points(rows: Sequence[ComparedPoint], method: str, held: bool, name: Name) -> Curve:
    shape = SYMBOLS.get(method, "triangle-up")
    return {
        "type": "scatter",
        "mode": "markers",
        "name": words(method) + (", held out" if held else ""),
        "x": [row.measured.value for row in rows],
        "y": [row.predictions[method].value for row in rows],
        "text": [words(_hover(row, method, name)) for row in rows],
        "hovertemplate": "%{text}<extra></extra>",
        # A baseline is drawn only if the reader selects it in the legend, because it would compress
        # the range of the other points.
        "visible": "legendonly" if method in BASELINES else True,
        "marker": {
            "color": colour(method),
            "size": 10 if held else 8,
            "opacity": 0.8,
            "symbol": shape if held else f"{shape}-open",
            "line": {"width": 0 if held else 1.5, "color": INK if held else colour(method)},
        },
    }


def _hover(row: ComparedPoint, method: str, name: Name) -> str:
    one = row.predictions[method]
    bounds = ""
    if one.low is not None and one.high is not None:
        bounds = f" ({number(one.low)} to {number(one.high)})"
    return (
        f"{name(row.labels)}: {method} {number(one.value)}{bounds}, measured "
        f"{number(row.measured.value)}, error {signed(row.errors.get(method))}"
    )


SECTION = PageSection(TITLE, ORDER, EMPTY, render)
