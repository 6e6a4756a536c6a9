"""Time of each step, measured beside modelled."""

from __future__ import annotations

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.plot import axis, chart, colour
from dfslab.report.table import labels_text, seconds, signed, table
from dfslab.studies.compare import Row

TITLE = "Time per step"
ORDER = 40
EMPTY = "No step was both measured and modelled."
MOST_CHARTS = 4


def render(study: ReportInput) -> Markup | None:
    """A table of all steps, and charts of some configurations."""
    if study.comparison is None:
        return None
    methods = [m for m in study.methods if any(m in r.steps and r.steps[m] for r in _rows(study))]
    rows, held = [], []
    for row in _rows(study):
        for cells in _cells(row, methods):
            rows.append(cells)
            held.append(row.held_out)
    if not rows:
        return None
    heads = [head for method in methods for head in (method, "error")]
    head = ["configuration", "operation", "step", "measured", *heads]
    return _charts(study, methods) + _details(table(head, rows, held), len(rows))


def _details(body: Markup, count: int) -> Markup:
    return Markup("<details><summary>All {} steps as a table</summary>{}</details>").format(
        count, body
    )


def _rows(study: ReportInput) -> list[Row]:
    assert study.comparison is not None
    return [row for row in study.comparison.rows if row.steps.get("measure")]


def _cells(row: Row, methods: list[str]) -> list[list[str]]:
    modelled = {
        method: {(s.operation, s.step): s.time_s_mean for s in row.steps.get(method, [])}
        for method in methods
    }
    found = []
    for step in row.steps["measure"]:
        cells = [labels_text(row.labels), step.operation, step.step, seconds(step.time_s_mean)]
        for method in methods:
            value = modelled[method].get((step.operation, step.step))
            cells.append("–" if value is None else seconds(value))
            error = None if value is None else value / max(step.time_s_mean, 1e-12) - 1
            cells.append(signed(error))
        found.append(cells)
    return found


def _charts(study: ReportInput, methods: list[str]) -> Markup:
    """The first, middle and last configurations of every kind of operation."""
    rows = _rows(study)
    chosen = [
        rows[round(i * (len(rows) - 1) / max(1, MOST_CHARTS - 1))] for i in range(MOST_CHARTS)
    ]
    unique = list({row.point_id: row for row in chosen}.values())
    return Markup('<div class="charts">{}</div>').format(
        Markup("").join(_chart(row, methods) for row in unique)
    )


def _chart(row: Row, methods: list[str]) -> Markup:
    names = [f"{s.operation}/{s.step}" for s in row.steps["measure"]]
    data = []
    for method in ("measure", *methods):
        times = {f"{s.operation}/{s.step}": s.time_s_mean for s in row.steps.get(method, [])}
        data.append({
            "type": "bar", "name": method, "x": names,
            "y": [times.get(name) for name in names], "marker": {"color": colour(method)},
        })  # fmt: skip
    layout = {"title": {"text": labels_text(row.labels)}, "barmode": "group",
              "yaxis": axis("seconds an operation", log=True), "xaxis": axis("")}  # fmt: skip
    return chart(data, layout, f"time per step of {labels_text(row.labels)}")
