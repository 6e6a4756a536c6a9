"""Latency of the measured operations: quantiles and distributions."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.plot import axis, chart
from dfslab.report.table import labels_text, seconds, table
from dfslab.result import Result
from dfslab.studies.compare import sort_key

TITLE = "Latency"
ORDER = 30
EMPTY = "No operation was measured."
MOST_CURVES = 8


def render(study: ReportInput) -> Markup | None:
    """A table of quantiles and the distribution of some configurations."""
    measured = [r for r in study.of_method("measure") if r.repetition == 0]
    if not measured:
        return None
    measured.sort(key=lambda result: sort_key(result.labels))
    rows = [row for result in measured for row in _rows(result)]
    head = ["configuration", "operation", "mean", "p50", "p90", "p99", "p99.9"]
    return table(head, rows) + _distributions(measured)


def _rows(result: Result) -> list[list[str]]:
    found = []
    for key in result.metrics:
        if key.startswith("latency_s_mean."):
            operation = key.split(".", 1)[1]
            quantiles = [
                f"latency_s_{q}.{operation}" for q in ("mean", "p50", "p90", "p99", "p999")
            ]
            values = [seconds(result.value(q)) if q in result.metrics else "–" for q in quantiles]
            found.append([labels_text(dict(result.labels)), operation, *values])
    return found


def _distributions(measured: list[Result]) -> Markup:
    """Share of operations that took longer, so that tails are seen."""
    step = max(1, len(measured) // MOST_CURVES)
    data: list[dict[str, Any]] = []
    for result in measured[::step][:MOST_CURVES]:
        for operation, histogram in (result.detail.get("histograms") or {}).items():
            data.append(_curve(f"{operation}: {labels_text(dict(result.labels))}", histogram))
    if not data:
        return Markup("")
    layout = {
        "title": {"text": "Share of operations that took longer"},
        "xaxis": axis("latency (s)", log=True),
        "yaxis": axis("share", log=True),
        "height": 460,
    }
    return chart(data, layout, "share of operations that took longer than a latency")


def _curve(name: str, histogram: list[list[float]]) -> dict[str, Any]:
    total = sum(count for _, count in histogram)
    left, times, shares = total, [], []
    for low_ns, count in histogram:
        times.append(max(low_ns, 1) * 1e-9)
        shares.append(left / total)
        left -= count
    return {"type": "scatter", "mode": "lines", "name": name, "x": times, "y": shares,
            "line": {"shape": "hv"}}  # fmt: skip
