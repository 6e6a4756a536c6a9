"""The table cell of a metric with its interval."""

from __future__ import annotations

from dfslab.documents.table import TableCell, absent, number_text
from dfslab.result import Metric


def estimated(metric: Metric | None, error: float | None = None) -> TableCell:
    """Returns the cell of a metric with its interval below, and with `error` if the metric is a
    prediction whose signed relative error is known. Without a metric, the cell has a dash."""
    if metric is None:
        return absent()
    interval = ""
    if metric.low is not None and metric.high is not None:
        interval = f"{number_text(metric.low)} to {number_text(metric.high)}"
    text = number_text(metric.value)
    return TableCell(metric.value, text, interval, metric.low, metric.high, error=error)
