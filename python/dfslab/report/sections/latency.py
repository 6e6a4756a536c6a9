"""Renders the section on the latency of the measured operations: quantiles and distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from dfslab.documents import metrics
from dfslab.documents.measured_load import Buckets
from dfslab.documents.table import (
    Name,
    Tab,
    Table,
    TableCell,
    absent,
    count,
    heads,
    percent_text,
    seconds,
    seconds_text,
    words,
)
from dfslab.report.charts import palette
from dfslab.report.charts.figure import Axis, Dash, Panel, Series
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import drawn, folded, note
from dfslab.result import Result
from dfslab.studies.compare import sort_key
from dfslab.studies.contract import FinishedRun

TITLE = "Latency"
ORDER = 30
EMPTY = "No operation was measured."
MOST_CURVES = 5
# Smallest distance of two neighbouring points of a logarithmic curve. A point is not drawn if its
# time and its fraction of operations both differ by less than this fraction from the point drawn
# before it. The value is a choice: a chart of 400 pixels has at most six decades, so the distance
# is less than two pixels.
CLOSE = 0.04
LONG_TABLE = 24
# The two curves of one operation: latencies, and response times from the scheduled start. Each key
# is the name of a run's field that has the histograms. Each value is (suffix of the curve's name,
# line style).
CURVES: Mapping[str, tuple[str, Dash]] = {
    "histograms": ("", "solid"),
    "response_histograms": (", from the scheduled start", "dot"),
}
# Smallest number of operations of a run for which each statistic is shown. With fewer operations, a
# quantile would depend only on the slowest operation.
QUANTILES = {"mean": 1, "p50": 2, "p90": 10, "p99": 100, "p999": 1000}
NOTE = (
    "Median over repetitions of each run's quantile; a dash where a run has too few operations "
    "for the quantile to be more than its slowest one. Latency counts from the actual start of an "
    "operation; response time counts from its scheduled start, if it had one."
)


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: charts of the distributions of selected configurations, and a table of the
    quantiles of all configurations. None if no latency was measured."""
    groups: dict[str, list[Result]] = {}
    for result in study.of_method("measure"):
        groups.setdefault(result.point_id, []).append(result)
    ordered = sorted(groups.values(), key=lambda group: sort_key(group[0].labels))
    rows = [row for group in ordered for row in _rows(group, study.name)]
    if not rows:
        return None
    columns = heads(
        "configuration",
        "operation",
        "operations",
        "mean",
        "p50",
        "p90",
        "p99",
        "p99.9",
        left=["operation"],
    )
    body = note(NOTE) + drawn(Table("Quantiles of the latency", columns, rows))
    if len(rows) > LONG_TABLE:
        body = folded(f"Quantiles of all {len(rows)} configurations", body)
    return _distributions(ordered, study.name) + body


def _rows(group: Sequence[Result], name: Name) -> list[list[TableCell]]:
    """Returns the table rows of one configuration. Each operation has one row with the latency. If
    response times are known, it has another row with the time from the scheduled start.

    `group` has the results of the configuration's repetitions.
    """
    operations = dict.fromkeys(
        operation
        for result in group
        for operation in metrics.operations_with(result.metrics, metrics.LATENCY)
    )
    labels = words(name(group[0].labels))
    rows = []
    for operation in operations:
        rows.append([labels, words(operation), *_cells(group, operation, metrics.LATENCY)])
        if any(
            operation in metrics.operations_with(result.metrics, metrics.RESPONSE)
            for result in group
        ):
            rows.append(
                [
                    labels,
                    words(f"{operation}, from the scheduled start"),
                    *_cells(group, operation, metrics.RESPONSE),
                ]
            )
    return rows


def _cells(group: Sequence[Result], operation: str, kind: str) -> list[TableCell]:
    counts = [sum(found for _, found in _histogram(result, operation)) for result in group]
    fewest = min(counts)
    cells = [count(round(sum(counts))) if fewest else absent()]
    for quantile, needed in QUANTILES.items():
        key = metrics.key(kind, quantile, operation)
        values = [result.value(key) for result in group if key in result.metrics]
        known = values and (fewest >= needed or not fewest)
        cells.append(seconds(float(np.median(values)) if known else None))
    return cells


def _histogram(result: Result, operation: str, kind: str = "histograms") -> Buckets:
    """Returns the histogram of one operation's latencies, or of its response times if `kind` is
    "response_histograms". A bucket is a pair [lower bound in ns, count].

    The list is empty if the histogram was not recorded.
    """
    if result.load is None:
        return []
    responses = kind == "response_histograms"
    found = result.load.response_histograms if responses else result.load.histograms
    return found.get(operation, [])


def _distributions(ordered: Sequence[Sequence[Result]], name: Name) -> Markup:
    """Returns the HTML of one chart for each operation. A curve shows, for each time t, the
    fraction of the operations that take longer than t. In this form, rare slow operations are
    visible."""
    kinds: dict[str, list[Sequence[Result]]] = {}
    for group in ordered:
        for operation in group[0].load.histograms if group[0].load else ():
            kinds.setdefault(operation, []).append(group)
    charts = [_chart(operation, groups, name) for operation, groups in sorted(kinds.items())]
    return Markup('<div class="charts">{}</div>').format(Markup("").join(charts))


def _chart(operation: str, groups: Sequence[Sequence[Result]], name: Name) -> Markup:
    """Returns the HTML of one operation's chart. If there are more than MOST_CURVES configurations,
    only configurations with one number of clients are drawn: at most MOST_CURVES, selected evenly.

    A group has the results of one configuration's repetitions, which are merged.
    """
    total = len(groups)
    groups = groups if total <= MOST_CURVES else of_one_client_count(groups)
    places = np.linspace(0, len(groups) - 1, min(MOST_CURVES, len(groups)))
    series = []
    for turn, place in enumerate(dict.fromkeys(int(round(p)) for p in places)):
        group = groups[place]
        for kind, (stated, dash) in CURVES.items():
            merged: dict[float, float] = {}
            for result in group:
                for low_ns, found in _histogram(result, operation, kind):
                    merged[low_ns] = merged.get(low_ns, 0) + found
            if merged:
                text = name(group[0].labels) + stated
                series.append(_curve(text, merged, palette.of_place(turn), dash))
    title = f"{operation}: share of operations that took longer"
    if total > len(series):
        title += f" ({min(MOST_CURVES, len(groups))} of {total} configurations)"
    return figure(
        [Panel("", series)],
        Axis("latency", "s", log=True),
        Axis("share of operations", "%", log=True),
        f"share of {operation} operations that took longer than a latency",
        title,
    )


def of_one_client_count(groups: Sequence[Sequence[Result]]) -> list[Sequence[Result]]:
    """Returns the groups of the number of clients that most groups have. Of equally frequent
    numbers, the smallest is chosen. A group has the results of one configuration's repetitions."""
    of_count: dict[int, list[Sequence[Result]]] = {}
    for group in groups:
        of_count.setdefault(group[0].point.scenario.workload.clients, []).append(group)
    return max(sorted(of_count.items()), key=lambda one: len(one[1]))[1]


def _curve(name: str, histogram: Mapping[float, float], colour: str, dash: Dash) -> Series:
    total = sum(histogram.values())
    left, times, shares = total, [], []
    for low_ns in sorted(histogram):
        times.append(max(low_ns, 1) * 1e-9)
        shares.append(left / total)
        left -= histogram[low_ns]
    chosen = _spread(times, shares)
    return Series(
        name,
        colour,
        [times[place] for place in chosen],
        [shares[place] for place in chosen],
        line=dash,
        stepped=True,
        hints=[
            f"{name}: {percent_text(shares[place])} took longer than {seconds_text(times[place])}"
            for place in chosen
        ],
    )


def _spread(times: Sequence[float], shares: Sequence[float]) -> list[int]:
    """Returns the indices of the points of a curve that are drawn. The last point is always drawn.
    A point is left out if it is close to the preceding drawn point, both in time and in the
    fraction of operations."""
    chosen = [0]
    for place in range(1, len(times)):
        before = chosen[-1]
        moved = abs(math.log(times[place] / times[before])) > CLOSE
        fallen = abs(math.log(shares[place] / shares[before])) > CLOSE
        if moved or fallen or place == len(times) - 1:
            chosen.append(place)
    return chosen


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.LATENCY, is_general=True)
