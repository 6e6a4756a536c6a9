"""Renders the section on the time of each step of an operation, measured and modelled."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dfslab.documents.table import (
    Name,
    Tab,
    Table,
    TableCell,
    heads,
    seconds,
    seconds_text,
    signed,
    words,
)
from dfslab.report.charts import palette
from dfslab.report.charts.figure import Axis, Bars, Panel
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import contents, note
from dfslab.studies.compare import ComparedPoint, Comparison
from dfslab.studies.contract import FinishedRun

TITLE = "Time per step"
ORDER = 40
EMPTY = "No step was both measured and modelled."
MOST_CHARTS = 6
NOTE = (
    "Mean time that one operation spends in each of its steps, for some configurations of every "
    "kind of operation. A step without a modelled bar is one that the description leaves out."
)


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: charts of selected configurations, and a table of all steps.

    Returns None if no step was both measured and modelled.
    """
    comparison = study.find(Comparison)
    found = [r for r in (comparison.rows if comparison else []) if r.steps.get("measure")]
    methods = [m for m in study.methods if any(row.steps.get(m) for row in found)]
    if not found or not methods:
        return None
    table = _table(found, methods, study.name)
    charts = Markup("").join(_chart(row, methods, study.name) for row in _chosen(found))
    return note(NOTE) + Markup('<div class="charts">{}</div>').format(charts) + contents(table)


def _table(found: Sequence[ComparedPoint], methods: list[str], name: Name) -> Table:
    """Returns the table of all steps. The rows of held-out configurations are marked."""
    rows: list[list[TableCell]] = []
    held: set[int] = set()
    for row in found:
        cells = _cells(row, methods, name)
        if row.held_out:
            held.update(range(len(rows), len(rows) + len(cells)))
        rows += cells
    errors = [title for method in methods for title in (method, "error")]
    columns = heads(
        "configuration", "operation", "step", "measured", *errors, left=["operation", "step"]
    )
    title = f"All {len(rows)} steps as a table"
    return Table("Steps", columns, rows, marked=frozenset(held), folded=title)


def first_row(study: FinishedRun) -> ComparedPoint | None:
    """Returns the configuration with the most measured steps; None if no configuration has two or
    more measured steps."""
    comparison = study.find(Comparison)
    rows = comparison.rows if comparison else []
    row = max(rows, key=lambda one: len(one.steps.get("measure", [])), default=None)
    return row if row is not None and len(row.steps.get("measure", [])) >= 2 else None


def first_chart(study: FinishedRun) -> Markup:
    """Returns the HTML of a chart of the steps of the configuration that `first_row` returns; empty
    if `first_row` returns None."""
    row = first_row(study)
    if row is None:
        return Markup("")
    methods = [name for name in study.methods if row.steps.get(name)]
    return _chart(row, methods, study.name, "Where the time goes: ")


def _chosen(rows: Sequence[ComparedPoint]) -> list[ComparedPoint]:
    """Returns the configurations that get a chart, at most MOST_CHARTS. These are the first and the
    last configuration of every operation type.

    If these would be more than MOST_CHARTS, the middle configuration of each type is returned
    instead.
    """
    kinds: dict[str, list[ComparedPoint]] = {}
    for row in rows:
        kinds.setdefault("+".join(row.operations), []).append(row)
    few = 2 * len(kinds) <= MOST_CHARTS
    chosen = [
        row
        for group in kinds.values()
        for row in ((group[0], group[-1]) if few else (group[len(group) // 2],))
    ]
    return list({row.point_id: row for row in chosen}.values())[:MOST_CHARTS]


def _cells(row: ComparedPoint, methods: list[str], name: Name) -> list[list[TableCell]]:
    modelled = {
        method: {(s.operation, s.step): s.time_s_mean for s in row.steps.get(method, [])}
        for method in methods
    }
    found = []
    for step in row.steps["measure"]:
        texts = (name(row.labels), step.operation, step.step)
        cells = [*map(words, texts), seconds(step.time_s_mean)]
        for method in methods:
            value = modelled[method].get((step.operation, step.step))
            error = None
            if value is not None and step.time_s_mean > 0:
                error = value / step.time_s_mean - 1
            cells += [seconds(value), signed(error)]
        found.append(cells)
    return found


def _chart(row: ComparedPoint, methods: list[str], name: Name, before: str = "") -> Markup:
    """Returns the HTML of a chart of one configuration's step times.

    The bars start at zero, so that their lengths are proportional to the times. `before`: the
    beginning of the title.
    """
    steps = {
        method: {(s.operation, s.step): s.time_s_mean for s in row.steps.get(method, [])}
        for method in ("measure", *methods)
    }
    order = sorted(steps["measure"], key=lambda key: -steps["measure"][key])
    several = len({operation for operation, _ in order}) > 1
    names = [f"{operation}: {step}" if several else step for operation, step in order]
    bars = [
        Bars(
            "measured" if method == "measure" else method,
            palette.of_method(method),
            [times.get(key) for key in order],
            hints=[
                f"{method}, {text}: {seconds_text(times.get(key))}"
                for key, text in zip(order, names, strict=True)
            ],
        )
        for method, times in steps.items()
    ]
    title = f"{before}{name(row.labels)}"
    return figure(
        [Panel("", bars=bars)],
        Axis("time of one operation", "s", from_zero=True),
        Axis(categories=names),
        title,
        title,
    )


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.TIME, is_general=True)
