"""Renders the section on rates against the varied keys, with measurements as points and
predictions as lines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from dfslab.documents.table import labels_text
from dfslab.models.learn.features import describe
from dfslab.report.contract import PageSection
from dfslab.report.figure import Axis, AxisOptions, Curve
from dfslab.report.page_table import note, number
from dfslab.report.plot import DASHES, INK, axis, colour, log_axis, panels, with_interval, words
from dfslab.result import Metric, Result
from dfslab.spec import units
from dfslab.spec.streams.stream import has_stream
from dfslab.studies.compare import BASELINES, geometric_mean
from dfslab.studies.contract import FinishedRun

TITLE = "Throughput"
ORDER = 20
EMPTY = "No configuration was measured or predicted with a rate."
ALONG = {"file_size": "file size", "clients": "clients", "transfer_size": "transfer size"}
NOTE = (
    "Points are measured means of configurations with 90 % intervals, filled where one was held "
    "out; lines are predictions, whose intervals show under the pointer. The baselines are one "
    "click on the legend away."
)
Described = Mapping[str, Mapping[str, Any]]


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: one chart for each operation type, with a panel for every number of clients."""
    groups: dict[str, list[Result]] = {}
    for result in study.results:
        is_load = result.method != "trace" and has_stream(result.point.scenario)
        if is_load and _positive(result, "rate_per_s"):
            groups.setdefault(str(describe(result.point)["operations"]), []).append(result)
    if not groups:
        return None
    wide: list[Markup] = []
    narrow: list[Markup] = []
    for name, group in sorted(groups.items()):
        figure, count = _figure(name, group)
        (narrow if count == 1 else wide).append(Markup("<div>{}</div>").format(figure))
    side_by_side = Markup('<div class="charts">{}</div>').format(Markup("").join(narrow))
    return note(NOTE) + Markup("").join(wide) + (side_by_side if narrow else "")


def _positive(result: Result, metric: str) -> bool:
    return metric in result.metrics and result.value(metric) > 0


def _figure(operations: str, results: Sequence[Result]) -> tuple[Markup, int]:
    """(chart of one operation type, number of its panels)."""
    described = {result.point_id: describe(result.point) for result in results}
    along = _axis_of(list(described.values()))
    has_bytes = all(_positive(r, "throughput_bytes_per_s") for r in results)
    metric = "throughput_bytes_per_s" if has_bytes else "rate_per_s"
    clients = sorted({float(d["clients"]) for d in described.values()})
    groups = []
    for count in clients if along != "clients" else [None]:
        chosen = [r for r in results if count in (None, described[r.point_id]["clients"])]
        traces = [
            _trace([r for r in chosen if r.method == method], described, along, metric)
            for method in dict.fromkeys(result.method for result in chosen)
        ]
        title = operations if count is None else f"{operations}, {_clients(count)}"
        groups.append((title, sorted(traces, key=_legend_order)))
    shown = [r.value(metric) for r in results if r.method not in BASELINES]
    what = "bytes per second" if has_bytes else "operations per second"
    figure = panels(
        groups,
        _along_axis(results, described, along),
        log_axis(what, shown),
        f"{what} of {operations} against {ALONG[along]}",
    )
    return figure, len(groups)


def _clients(count: float) -> str:
    return "1 client" if count == 1 else f"{count:.0f} clients"


def _legend_order(trace: Curve) -> tuple[bool, bool]:
    return (trace["name"] != "measured", trace["visible"] is not True)


def _axis_of(described: Sequence[Mapping[str, Any]]) -> str:
    """The varied key with the most values. It becomes the horizontal axis."""
    return max(ALONG, key=lambda key: len({one.get(key) for one in described}))


def _along_axis(results: Sequence[Result], described: Described, along: str) -> Axis:
    """A horizontal axis with a tick at each configuration.

    The tick labels are the values as written in the scenario.
    """
    written: dict[float, str] = {}
    for result in results:
        place = float(described[result.point_id].get(along, 1.0))
        label = result.labels.get(f"workload.{along}")
        default = number(place) if along == "clients" else units.text(place, "B", 3)
        written[place] = words(str(default if label is None else label))
    places = sorted(written)
    ticks: AxisOptions = {
        "type": "log",
        "tickvals": places,
        "ticktext": [written[place] for place in places],
    }
    return axis(ALONG[along], **ticks)


def _trace(results: Sequence[Result], described: Described, along: str, metric: str) -> Curve:
    """The curve of one method: points with error bars for measurements, a line for a model.

    `along`: key of the horizontal axis.
    """
    points: dict[tuple[float, str], list[Result]] = {}
    method = results[0].method
    measured = method == "measure"
    for result in results:
        place = float(described[result.point_id].get(along, 1.0))
        points.setdefault((place, str(result.labels) if measured else ""), []).append(result)
    groups = [points[key] for key in sorted(points)]
    places = [place for place, _ in sorted(points)]
    metrics = [
        geometric_mean([r.value(metric) for r in group]) if measured else group[0].metrics[metric]
        for group in groups
    ]
    held = [any(result.point.held_out for result in group) for group in groups]
    crowded = len(places) > len(set(places))
    lines: Curve = {
        "mode": "lines" if len(places) > 1 else "markers",
        "line": {"color": colour(method), "width": 2, "dash": DASHES.get(method, "solid")},
        "marker": {"color": colour(method), "symbol": "line-ew-open", "size": 18},
    }
    marks: Curve = {
        "mode": "markers",
        "error_y": {**with_interval(metrics), "color": INK},
        "marker": {
            "color": INK,
            "size": 8,
            "line": {"width": 1.5},
            "symbol": ["circle" if one else "circle-open" for one in held],
        },
    }
    return {
        "type": "scatter",
        "name": "measured" if measured else words(method),
        # A baseline is drawn only if the reader selects it in the legend, because it would compress
        # the range of the other curves.
        "visible": "legendonly" if method in BASELINES else True,
        "x": places,
        "y": [one.value for one in metrics],
        "text": [
            words(_hover(method, one, metric, group[0].labels if crowded else {}))
            for one, group in zip(metrics, groups, strict=True)
        ],
        "hovertemplate": "%{text}<extra></extra>",
        **(marks if measured else lines),
    }


def _hover(method: str, one: Metric, metric: str, labels: Mapping[str, Any]) -> str:
    """The text that appears if the pointer is over a point: the value with its interval.

    `labels`: the configuration, if several share a position.
    """
    unit = "B/s" if metric == "throughput_bytes_per_s" else "1/s"
    of = f", {labels_text(labels)}" if labels else ""
    text = f"{method}{of} {_text(one.value, unit)}"
    if one.low is None or one.high is None:
        return text
    return f"{text} ({_text(one.low, unit)} to {_text(one.high, unit)})"


def _text(value: float, unit: str) -> str:
    return units.text(value, unit, 3) if math.isfinite(value) else "–"


SECTION = PageSection(TITLE, ORDER, EMPTY, render)
