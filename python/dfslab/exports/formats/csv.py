"""Exports results as CSV, one row for each metric."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from dfslab.exports.contract import ResultExporter
from dfslab.exports.metric_rows import MetricRow, rows
from dfslab.result import Result

TITLE = "Every metric as a row of CSV"


def write(results: Sequence[Result]) -> bytes:
    """Returns the results as CSV with a header and one row for each metric. Unknown values are
    empty."""
    found, text = rows(results), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(MetricRow._fields if found else ())
    writer.writerows(found)
    return text.getvalue().encode()


EXPORTER = ResultExporter(TITLE, ".csv", write)
