"""Every configuration: measured, predicted with intervals, signed errors; held-out ones marked."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.plot import axis, chart, colour
from dfslab.report.table import interval, labels_text, signed, table
from dfslab.studies.compare import Comparison

TITLE = "Predictions"
ORDER = 50
EMPTY = "Nothing was both measured and predicted."


def render(study: ReportInput) -> Markup | None:
    """The parity plot and the table."""
    comparison = study.comparison
    if comparison is None or not comparison.rows:
        return None
    methods = [m for m in study.methods if any(m in r.predictions for r in comparison.rows)]
    heads = [head for method in methods for head in (method, "error")]
    rows: list[list[Any]] = []
    for row in comparison.rows:
        cells: list[Any] = [labels_text(row.labels) + (" *" if row.held_out else "")]
        cells.append(interval(row.measured))
        for method in methods:
            cells += [interval(row.predictions.get(method)), signed(row.errors.get(method))]
        rows.append(cells)
    note = Markup(
        '<p class="soft">Operations per second, with 90 % intervals. Marked rows (*) were held '
        "out: no model was fitted on them. Errors are predicted / measured − 1.</p>"
    )
    held = [row.held_out for row in comparison.rows]
    body = table(["configuration", "measured", *heads], rows, held)
    return _parity(comparison, methods) + note + body


def _parity(comparison: Comparison, methods: list[str]) -> Markup:
    """Predicted against measured; on the line is right, between the dashes within 25 %."""
    data: list[dict[str, Any]] = []
    values = [row.measured.value for row in comparison.rows if row.measured.value > 0]
    ends = [min(values) / 1.5, max(values) * 1.5]
    for factor, dash, name in ((1.0, "solid", "measured = predicted"), (1.25, "dash", "±25 %"),
                               (0.8, "dash", "")):  # fmt: skip
        data.append({
            "type": "scatter", "mode": "lines", "x": ends, "y": [end * factor for end in ends],
            "line": {"color": "#888", "width": 1, "dash": dash}, "name": name,
            "showlegend": bool(name), "hoverinfo": "skip",
        })  # fmt: skip
    for method in methods:
        for held in (True, False):
            rows = [r for r in comparison.rows if r.held_out == held and method in r.predictions]
            if rows:
                data.append(_points(rows, method, held))
    layout = {
        "title": {"text": "Predicted against measured (filled: held out)"},
        "xaxis": axis("measured (operations per second)", log=True),
        "yaxis": axis("predicted", log=True),
        "height": 520,
    }
    return chart(data, layout, "predicted against measured rates of every method")


def _points(rows: list, method: str, held: bool) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "markers", "name": method + (", held out" if held else ""),
        "x": [row.measured.value for row in rows],
        "y": [row.predictions[method].value for row in rows],
        "text": [labels_text(row.labels) for row in rows],
        "marker": {"color": colour(method), "size": 10 if held else 8,
                   "symbol": "circle" if held else "circle-open"},
    }  # fmt: skip
