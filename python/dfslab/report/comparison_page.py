"""Renders the page that compares two runs: sentences on what differs, a chart of the changes with
their intervals, and the table of all comparisons."""

from __future__ import annotations

from markupsafe import Markup

from dfslab.documents.metrics import RATE, REGISTRY, parsed
from dfslab.documents.table import Tab, signed_text
from dfslab.report.charts import palette
from dfslab.report.charts.figure import Axis, Mark, Panel, Series, VerticalLine
from dfslab.report.charts.svg import figure
from dfslab.report.page import NO_BAR, Rendered, page_of
from dfslab.report.page_table import contents, folded, with_code
from dfslab.studies.decisions.reported.compared_runs import ComparedMetric, ComparedRuns, RunVerdict

MOST_ROWS = 40
# Colour and shape of the points for each verdict on the second run compared with the first.
STYLES: dict[RunVerdict, tuple[str, Mark]] = {
    "higher": ("blue", "circle"),
    "lower": ("orange", "square"),
    "no difference found": (palette.REFERENCE, "diamond"),
    "cannot tell": (palette.REFERENCE, "triangle"),
}


def render(found: ComparedRuns, bar: Markup = NO_BAR) -> str:
    """Returns the HTML of the page that compares two runs. `bar`: HTML above the page."""
    answer = Markup("").join(
        Markup("<p>{}</p>").format(with_code(one)) for one in found.sentences()
    )
    table = folded("All comparisons", contents(found.table(), titled=False), opened=True)
    body = Markup('<div class="answer">{}</div>').format(answer) + _chart(found) + table
    parts = [Rendered("comparison", "Answer", 0, body, "", Tab.ANSWER)]
    title = f"What differs in {found.after}, compared with {found.before}?"
    return page_of("Two runs compared", title, "compared by dfslab", parts, bar=bar)


def _chart(found: ComparedRuns) -> Markup:
    """Returns the HTML of a chart with one panel for each metric and one row for each
    configuration. If there are more than MOST_ROWS comparisons, those with the smallest adjusted
    p-values are drawn."""
    ordered = sorted(found.rows, key=lambda one: one.adjusted or 0.0)[:MOST_ROWS]
    panels = []
    # Panels of rates come first, then panels of times, ordered by operation.
    for metric in sorted({one.metric for one in ordered}, key=lambda one: (RATE not in one, one)):
        rows = sorted(
            (one for one in ordered if one.metric == metric), key=lambda one: one.configuration
        )
        categories = Axis(categories=[one.configuration or "all" for one in rows])
        panels.append(
            Panel(
                _label(metric),
                _series(rows),
                vertical_lines=[VerticalLine(1.0, "")],
                y_axis=categories,
            )
        )
    title = "Ratio of every metric: after / before"
    return figure(panels, Axis("after / before, 90 % interval", log=True), Axis(), title, title)


def _label(metric: str) -> str:
    """Returns the name of a metric in words, with the operation to which the metric belongs."""
    key = parsed(metric)
    known = REGISTRY.get(key.name)
    words = known.label if known else key.name
    return f"{key.operation}: {words}" if key.operation else words


def _series(rows: list[ComparedMetric]) -> list[Series]:
    """Returns the changes of one metric as points of a chart. The points of each verdict, such as
    "higher", are one series with a separate colour and shape."""
    found = []
    for verdict, (colour, mark) in STYLES.items():
        own = [(float(place), one) for place, one in enumerate(rows) if one.verdict == verdict]
        if own:
            found.append(
                Series(
                    verdict,
                    colour,
                    [1 + one.change for _, one in own],
                    [place for place, _ in own],
                    mark=mark,
                    low=[1 + (one.change if one.low is None else one.low) for _, one in own],
                    high=[1 + (one.change if one.high is None else one.high) for _, one in own],
                    across=True,
                    hints=[f"{one.configuration}: {signed_text(one.change)}" for _, one in own],
                )
            )
    return found
