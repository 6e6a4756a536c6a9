"""Reads a table of measured rates at several numbers of clients, or of servers, from a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from dfslab.models.scaling.closed_mix import MOST_CLIENTS, OperationPoint
from dfslab.models.scaling.placement import PLACEMENTS
from dfslab.spec.input_error import InputError

CLIENTS, SERVERS, OPERATION, RATE = "clients", "servers", "operation", "rate_per_s"
MEAN, P99, PLACED = "latency_s_mean", "latency_s_p99", "placements"
UNKNOWN = ("", "nan")


@dataclass(frozen=True)
class ServerRow:
    """The rate per second of one kind of operation at a number of servers. `placements` is the
    mean number of placements on a server."""

    operation: str
    servers: int
    rate_per_s: float
    placements: float


def is_of_servers(text: str) -> bool:
    """Returns whether the first line of a table has a column for the number of servers."""
    return SERVERS in next(csv.reader(text.splitlines()), [])


def mix_points(text: str, file: str) -> dict[int, dict[str, OperationPoint]]:
    """Returns the measurements of a mix by number of clients. The columns are clients, operation,
    rate_per_s, latency_s_mean and, if known, latency_s_p99. Raises InputError if a column is
    missing, a value is no positive number, a row occurs twice, or there are fewer than two numbers
    of clients with the same operations."""
    points: dict[int, dict[str, OperationPoint]] = {}
    for line, row in _rows(text, file, (CLIENTS, OPERATION, RATE, MEAN)):
        clients = _whole(row, CLIENTS, line, file)
        point = points.setdefault(clients, {})
        if row[OPERATION] in point:
            reason = f"is in line {line} again; one row for each operation and number of clients"
            raise InputError(OPERATION, row[OPERATION], reason, file)
        p99 = (row.get(P99) or "").strip()
        point[row[OPERATION]] = OperationPoint(
            _positive(row, RATE, line, file),
            _positive(row, MEAN, line, file),
            None if p99.lower() in UNKNOWN else _positive(row, P99, line, file),
        )
    if len(points) < 2:
        counts = ", ".join(map(str, points)) or "none"
        raise InputError(CLIENTS, counts, "at least two numbers of clients are needed", file)
    kinds = [sorted(point) for point in points.values()]
    for clients, point in points.items():
        if sorted(point) != kinds[0]:
            reason = f"the operations at every number of clients must be {', '.join(kinds[0])}"
            raise InputError(f"operations at {clients} clients", sorted(point), reason, file)
    return points


def server_rows(text: str, file: str) -> list[ServerRow]:
    """Returns the rows of a table with the columns servers, operation, rate_per_s and, if known,
    placements. Raises InputError if a column is missing or a value is no positive number."""
    return [
        ServerRow(
            row[OPERATION],
            _whole(row, SERVERS, line, file),
            _positive(row, RATE, line, file),
            _positive(row, PLACED, line, file) if (row.get(PLACED) or "").strip() else PLACEMENTS,
        )
        for line, row in _rows(text, file, (SERVERS, OPERATION, RATE))
    ]


def _rows(text: str, file: str, columns: Sequence[str]) -> list[tuple[int, Mapping[str, str]]]:
    """Returns every row with the number of its line. Raises InputError if a column is missing, if
    there are no rows, or if a row is too short."""
    reader = csv.DictReader(text.splitlines())
    missing = [one for one in columns if one not in (reader.fieldnames or ())]
    if missing:
        reason = f"no such column; the first line must have the columns {', '.join(columns)}"
        raise InputError(missing[0], None, reason, file)
    rows = [(reader.line_num, row) for row in reader]
    if not rows:
        raise InputError("rows", 0, "the table has no measurement below its first line", file)
    for line, row in rows:
        if any(row[one] is None for one in columns):
            raise InputError(f"line {line}", None, "has fewer values than the first line", file)
    return rows


def _positive(row: Mapping[str, str], column: str, line: int, file: str) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = float("nan")
    if not isfinite(value) or value <= 0:
        raise InputError(f"{column} in line {line}", row[column], "a number above 0", file)
    return value


def _whole(row: Mapping[str, str], column: str, line: int, file: str) -> int:
    value = _positive(row, column, line, file)
    if value != int(value) or value > MOST_CLIENTS:
        reason = f"a whole number from 1 to {MOST_CLIENTS}"
        raise InputError(f"{column} in line {line}", row[column], reason, file)
    return int(value)
