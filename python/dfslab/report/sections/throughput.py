"""Rates against what was varied: measured with intervals, predictions as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from dfslab.models.features import describe
from dfslab.report.page import ReportInput
from dfslab.report.plot import DASHES, axis, chart, colour, with_interval
from dfslab.result import Metric, Result
from dfslab.studies.compare import geometric_mean

TITLE = "Throughput"
ORDER = 20
EMPTY = "No configuration was measured or predicted with a rate."
BASELINES = ("mean", "ideal")
ALONG = ("file_size", "clients", "transfer_size")
UNITS = {
    "file_size": "file size (bytes)",
    "clients": "clients",
    "transfer_size": "transfer (bytes)",
}


def render(study: ReportInput) -> Markup | None:
    """One chart for each kind of operation."""
    groups: dict[str, list[Result]] = {}
    for result in study.results:
        if "rate_per_s" in result.metrics and result.method != "trace":
            groups.setdefault(str(describe(result.point)["operations"]), []).append(result)
    charts = [_chart(name, group) for name, group in sorted(groups.items())]
    return (
        Markup('<div class="charts">{}</div>').format(Markup("").join(charts)) if charts else None
    )


def _chart(operations: str, results: Sequence[Result]) -> Markup:
    described = {result.point_id: describe(result.point) for result in results}
    along = _axis_of(list(described.values()))
    has_bytes = all("throughput_bytes_per_s" in r.metrics for r in results)
    metric = "throughput_bytes_per_s" if has_bytes else "rate_per_s"
    data: list[dict[str, Any]] = []
    clients = sorted({float(d["clients"]) for d in described.values()})
    for number, count in enumerate(clients if along != "clients" else [None]):
        for method in dict.fromkeys(result.method for result in results):
            chosen = [
                r for r in results
                if r.method == method and count in (None, described[r.point_id]["clients"])
            ]  # fmt: skip
            if chosen:
                label = method if count is None else f"{method}, {_clients(count)}"
                data.append(_trace(chosen, described, along, metric, label, number))
    title = "bytes per second" if has_bytes else "operations per second"
    layout = {
        "title": {"text": operations},
        "xaxis": axis(UNITS.get(along, along), log=True),
        "yaxis": axis(title, log=True),
        "height": 420 + 12 * len(data),
        "legend": {"orientation": "h", "y": -0.2, "yanchor": "top"},
    }
    return chart(data, layout, f"{title} of {operations} against {along}")


def _clients(count: float) -> str:
    return "1 client" if count == 1 else f"{count:.0f} clients"


def _axis_of(described: Sequence[dict[str, Any]]) -> str:
    """What varies most becomes the horizontal axis."""
    return max(ALONG, key=lambda key: len({one.get(key) for one in described}))


def _trace(
    results: Sequence[Result], described: dict[str, dict[str, Any]], along: str, metric: str,
    label: str, number: int,
) -> dict[str, Any]:  # fmt: skip
    points: dict[float, list[Metric]] = {}
    for result in results:
        place = float(described[result.point_id].get(along, 1.0))
        points.setdefault(place, []).append(result.metrics[metric])
    places = sorted(points)
    measured = results[0].method == "measure"
    metrics = [
        geometric_mean([m.value for m in points[p]]) if measured else points[p][0] for p in places
    ]
    return {
        "type": "scatter",
        "name": label,
        # Baselines are a click away: drawn at once they would squeeze the rest together.
        "visible": "legendonly" if results[0].method in BASELINES else True,
        "x": places,
        "y": [metric.value for metric in metrics],
        "error_y": with_interval(metrics) if measured else {"visible": False},
        "mode": "markers" if measured else "lines",
        "marker": {"color": colour(results[0].method), "symbol": number, "size": 9},
        "line": {"color": colour(results[0].method), "dash": DASHES[number % len(DASHES)]},
    }
