"""Exports the tables of all studies as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from dfslab.documents.table import Table
from dfslab.exports.contract import RunExporter
from dfslab.report import run_document
from dfslab.studies.contract import FinishedRun

TITLE = "The tables of all studies, one after another, as CSV"


def write(run: FinishedRun) -> bytes:
    """Returns all tables of a run as CSV, including those that `dfslab run` does not print."""
    return tables_as_csv(run_document.every_table(run))


def tables_as_csv(tables: Sequence[Table]) -> bytes:
    """Returns several tables as one CSV text. Before each table is a line with its title, after it
    an empty line.

    Values are plain numbers in SI units. A column in which any cell has an interval is followed by
    two columns with the lower and the upper ends of the intervals.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for table in tables:
        bounded = [
            any(row[place].low is not None for row in table.rows)
            for place in range(len(table.columns))
        ]
        writer.writerow([f"# {table.title}"])
        writer.writerow(
            name
            for column, has_bounds in zip(table.columns, bounded, strict=True)
            for name in (column.title, *(("low", "high") if has_bounds else ()))
        )
        for row in table.rows:
            writer.writerow(
                value
                for cell, has_bounds in zip(row, bounded, strict=True)
                for value in (cell.value, *((cell.low, cell.high) if has_bounds else ()))
            )
        writer.writerow([])
    return text.getvalue().encode()


EXPORTER = RunExporter(TITLE, ".csv", write)
