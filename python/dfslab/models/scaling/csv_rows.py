"""Reads rows of CSV tables with named columns, and checks their numbers."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from math import isfinite

from dfslab.spec.input_error import InputError

# Largest number of clients, servers or devices that a table may state.
MOST = 100_000


@dataclass(frozen=True)
class CsvRow:
    """One row of a table: its texts by column, and its line number. The name of the file is kept
    for error messages."""

    texts: Mapping[str, str | None]
    line: int
    file: str

    def text(self, column: str) -> str:
        """Returns the text of a column, without spaces around it; "" if the column is empty or
        missing."""
        found = (self.texts.get(column) or "").strip()
        return "" if found.lower() == "nan" else found

    def positive(self, column: str) -> float:
        """Returns the number in a column. Raises InputError if the text is not a number above 0."""
        try:
            value = float(self.text(column))
        except ValueError:
            value = float("nan")
        if not isfinite(value) or value <= 0:
            raise self.wrong(column, "a number above 0")
        return value

    def whole(self, column: str) -> int:
        """Returns the whole number in a column. Raises InputError if the text is not a whole number
        from 1 to MOST."""
        value = self.positive(column)
        if value != int(value) or value > MOST:
            raise self.wrong(column, f"a whole number from 1 to {MOST}")
        return int(value)

    def known(self, column: str) -> float | None:
        """Returns the number in a column, or None if the text is empty. Raises InputError if the
        text is not a number above 0.
        """
        return self.positive(column) if self.text(column) else None

    def known_whole(self, column: str) -> int | None:
        """Returns the whole number in a column, or None if the text is empty. Raises InputError if
        the text is not a whole number from 1 to MOST.
        """
        return self.whole(column) if self.text(column) else None

    def wrong(self, column: str, allowed: str) -> InputError:
        """Returns an InputError for the text of a column; `allowed` describes the allowed texts."""
        return InputError(f"{column} in line {self.line}", self.text(column), allowed, self.file)


def columns_of(text: str) -> list[str]:
    """Returns the names of a table's columns. The names are in the first line that is not a
    comment. Returns an empty list if that line is not a line of CSV."""
    try:
        return next(csv.reader(_lines(text)), [])
    except csv.Error:
        # A field is longer than the limit of Python's csv module, so the text is not a table.
        return []


def rows(text: str, file: str, columns: Sequence[str]) -> list[CsvRow]:
    """Returns every row of a table. Raises InputError if one of `columns` is missing, if there are
    no rows, or if a row is too short or not CSV."""
    present = columns_of(text)
    missing = [one for one in columns if one not in present]
    if missing:
        reason = f"no such column; the first line must have the columns {', '.join(columns)}"
        raise InputError(missing[0], None, reason, file)
    comments = len(text.splitlines()) - len(_lines(text))
    reader = csv.DictReader(_lines(text))
    try:
        found = [CsvRow(row, comments + reader.line_num, file) for row in reader]
    except csv.Error as error:
        line = comments + reader.line_num
        raise InputError(f"line {line}", None, f"is no line of CSV: {error}", file) from error
    if not found:
        raise InputError("rows", 0, "the table has no measurement below its first line", file)
    for row in found:
        if any(row.texts[one] is None for one in columns):
            raise InputError(f"line {row.line}", None, "has fewer values than the first line", file)
    return found


def _lines(text: str) -> list[str]:
    """Returns the lines of a table without the comments at its head, which begin with #."""
    return list(dropwhile(lambda line: line.startswith("#"), text.splitlines()))
