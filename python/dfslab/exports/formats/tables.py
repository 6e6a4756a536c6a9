"""Exports the tables of all studies as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence

from dfslab.documents.table import Table, TableCell
from dfslab.exports.contract import RunExporter
from dfslab.report import run_document
from dfslab.studies.contract import FinishedRun

TITLE = "The tables of all studies, one after another, as CSV"
# The figures that a cell may have in addition to its value. Each figure is written to a separate
# column, with the key as title. The function returns the figure of a cell; None if the cell does
# not have this figure.
EXTRAS: Mapping[str, Callable[[TableCell], float | None]] = {
    "low": lambda cell: cell.low,
    "high": lambda cell: cell.high,
    "error": lambda cell: cell.error,
}


def write(run: FinishedRun) -> bytes:
    """Returns all tables of a run as CSV, including those that `dfslab run` does not print."""
    return tables_as_csv(run_document.every_table(run))


def tables_as_csv(tables: Sequence[Table]) -> bytes:
    """Returns several tables as one CSV text. Each table begins with a line that has its title, and
    ends with an empty line.

    Values are plain numbers in SI units. If any cell of a column has an interval, two additional
    columns with the ends of the intervals follow this column. If any cell has an error, an
    additional column with the errors follows.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for table in tables:
        extras = [_extras(row[place] for row in table.rows) for place in range(len(table.columns))]
        writer.writerow([f"# {table.title}"])
        writer.writerow(
            name
            for column, names in zip(table.columns, extras, strict=True)
            for name in (column.title, *names)
        )
        for row in table.rows:
            writer.writerow(
                value
                for cell, names in zip(row, extras, strict=True)
                for value in (cell.value, *(EXTRAS[name](cell) for name in names))
            )
        writer.writerow([])
    return text.getvalue().encode()


def _extras(cells: Iterable[TableCell]) -> list[str]:
    """Returns the titles of the additional columns for one column of a table. The titles are keys
    of EXTRAS: one for each figure that at least one cell of the column has."""
    found = list(cells)
    return [name for name, read in EXTRAS.items() if any(read(cell) is not None for cell in found)]


EXPORTER = RunExporter(TITLE, ".csv", write)
