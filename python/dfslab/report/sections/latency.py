"""Renders the section on the latency of the measured operations: quantiles and distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from dfslab.documents import metrics
from dfslab.documents.measured_load import Buckets
from dfslab.documents.table import Name
from dfslab.report.contract import PageSection
from dfslab.report.figure import ChartLayout, Curve
from dfslab.report.page_table import DASH, folded, note, seconds, table
from dfslab.report.plot import SEQUENCE, axis, chart, heading, words
from dfslab.result import Result
from dfslab.studies.compare import sort_key
from dfslab.studies.contract import FinishedRun

TITLE = "Latency"
ORDER = 30
EMPTY = "No operation was measured."
MOST_CURVES = 5
LONG_TABLE = 24
# The two times of an operation that the curves show (latency, response time): field of the run ->
# (suffix of the curve's name, line style).
CURVES = {"histograms": ("", "solid"), "response_histograms": (", since due", "dot")}
# Quantile -> least number of operations in a run. With fewer operations, the quantile would depend
# only on the slowest operation.
QUANTILES = {"mean": 1, "p50": 2, "p90": 10, "p99": 100, "p999": 1000}
NOTE = (
    "Median over repetitions of each run's quantile; a dash where a run has too few operations "
    "for the quantile to be more than its slowest one. Times count from when an operation began; "
    "where it was due at a time, also since then."
)


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: charts of the distributions of selected configurations, and a table of the
    quantiles of all configurations."""
    groups: dict[str, list[Result]] = {}
    for result in study.of_method("measure"):
        groups.setdefault(result.point_id, []).append(result)
    ordered = sorted(groups.values(), key=lambda group: sort_key(group[0].labels))
    rows = [row for group in ordered for row in _rows(group, study.name)]
    if not rows:
        return None
    head = ["configuration", "operation", "operations", "mean", "p50", "p90", "p99", "p99.9"]
    body = note(NOTE) + table(head, rows, texts=2)
    if len(rows) > LONG_TABLE:
        body = folded(f"Quantiles of all {len(rows)} configurations", body)
    return _distributions(ordered, study.name) + body


def _rows(group: Sequence[Result], name: Name) -> list[list[str]]:
    """Table rows of one configuration, one row for each operation.

    `group`: the results of its repetitions.
    """
    operations = dict.fromkeys(
        operation
        for result in group
        for operation in metrics.operations_with(result.metrics, metrics.LATENCY)
    )
    labels = name(group[0].labels)
    rows = []
    for operation in operations:
        rows.append([labels, operation, *_cells(group, operation, metrics.LATENCY)])
        if any(
            operation in metrics.operations_with(result.metrics, metrics.RESPONSE)
            for result in group
        ):
            rows.append(
                [labels, f"{operation}, since due", *_cells(group, operation, metrics.RESPONSE)]
            )
    return rows


def _cells(group: Sequence[Result], operation: str, kind: str) -> list[str]:
    counts = [sum(count for _, count in _histogram(result, operation)) for result in group]
    fewest = min(counts)
    cells = [f"{sum(counts):,.0f}" if fewest else DASH]
    for quantile, needed in QUANTILES.items():
        key = metrics.key(kind, quantile, operation)
        values = [result.value(key) for result in group if key in result.metrics]
        known = values and (fewest >= needed or not fewest)
        cells.append(seconds(float(np.median(values))) if known else DASH)
    return cells


def _histogram(result: Result, operation: str, kind: str = "histograms") -> Buckets:
    """[lower bound of the bucket in ns, count] pairs of one operation's times.

    Empty if the histogram was not recorded. `kind`: field of the run, a key of CURVES.
    """
    if result.load is None:
        return []
    responses = kind == "response_histograms"
    found = result.load.response_histograms if responses else result.load.histograms
    return found.get(operation, [])


def _distributions(ordered: Sequence[Sequence[Result]], name: Name) -> Markup:
    """HTML of one chart for each operation: the share of operations that take longer than a
    time, which shows tails."""
    kinds: dict[str, list[Sequence[Result]]] = {}
    for group in ordered:
        for operation in group[0].load.histograms if group[0].load else ():
            kinds.setdefault(operation, []).append(group)
    charts = [_chart(operation, groups, name) for operation, groups in sorted(kinds.items())]
    return Markup('<div class="charts">{}</div>').format(Markup("").join(charts))


def _chart(operation: str, groups: Sequence[Sequence[Result]], name: Name) -> Markup:
    """HTML of a chart of one operation with at most MOST_CURVES configurations, evenly selected.

    The repetitions of a configuration are merged.
    """
    places = np.linspace(0, len(groups) - 1, min(MOST_CURVES, len(groups)))
    data = []
    for number, place in enumerate(dict.fromkeys(int(round(p)) for p in places)):
        group = groups[place]
        for kind, (stated, dash) in CURVES.items():
            merged: dict[float, float] = {}
            for result in group:
                for low_ns, count in _histogram(result, operation, kind):
                    merged[low_ns] = merged.get(low_ns, 0) + count
            if merged:
                shade = SEQUENCE[number % len(SEQUENCE)]
                data.append(_curve(name(group[0].labels) + stated, merged, shade, dash))
    layout: ChartLayout = {
        "title": heading(f"{operation}: share of operations that took longer"),
        "xaxis": axis("", type="log", tickformat="~s", ticksuffix="s", dtick=1),
        "yaxis": axis("", type="log", tickformat="~%", dtick=1),
        "height": 320 + 20 * len(data),
        "margin": {"l": 55, "r": 15, "t": 36, "b": 40},
        "legend": {"orientation": "v", "y": -0.14, "yanchor": "top", "x": 0},
    }
    return chart(data, layout, f"share of {operation} operations that took longer than a latency")


def _curve(name: str, histogram: Mapping[float, float], shade: str, dash: str) -> Curve:
    total = sum(histogram.values())
    left, times, shares = total, [], []
    for low_ns in sorted(histogram):
        times.append(max(low_ns, 1) * 1e-9)
        shares.append(left / total)
        left -= histogram[low_ns]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": words(name),
        "x": times,
        "y": shares,
        "line": {"shape": "hv", "color": shade, "width": 2, "dash": dash},
        "hovertemplate": "%{y:.2%} took longer than %{x:.3s}s<extra></extra>",
    }


SECTION = PageSection(TITLE, ORDER, EMPTY, render)
