"""Exports results as a CSV table with one row for each measured workload run. `dfslab learn` can
read this table."""

from __future__ import annotations

from dfslab.exports.contract import Companion, ResultExporter
from dfslab.studies.runs import csv_runs

TITLE = "One row of CSV for each measured run, its settings in columns"
EXPORTER = ResultExporter(
    TITLE, ".csv", csv_runs.as_csv, companion=Companion(".json", csv_runs.about)
)
