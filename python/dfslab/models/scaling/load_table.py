"""Reads a table of measured rates at several numbers of clients, or of servers, from a CSV file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dfslab.documents import metrics
from dfslab.models.scaling import csv_rows
from dfslab.models.scaling.closed_mix import OperationPoint
from dfslab.models.scaling.hashed_placement import PLACEMENTS
from dfslab.spec.input_error import InputError

CLIENTS, SERVERS, OPERATION, RATE = "clients", "servers", "operation", metrics.RATE
# Largest excess of operations in flight that a table may have, relative to one operation per
# client. Published tables have a small excess, because figures are rounded and measuring windows
# differ. In tables of COSBench, 1.01 operations are in flight per client.
IN_FLIGHT_TOLERANCE = 0.1
MEAN, P99 = (metrics.time_name(metrics.LATENCY, one) for one in (metrics.MEAN, "p99"))
PLACED = "placements"


@dataclass(frozen=True)
class ServerRow:
    """The rate per second of one kind of operation at a number of servers. `placements` is the
    mean number of placements on a server."""

    operation: str
    servers: int
    rate_per_s: float
    placements: float


def is_of_rates(text: str) -> bool:
    """Returns whether the first line of a table has columns for operations or for their rates."""
    columns = csv_rows.columns_of(text)
    return OPERATION in columns or RATE in columns


def is_of_servers(text: str) -> bool:
    """Returns whether the first line of a table has a column for the number of servers."""
    return SERVERS in csv_rows.columns_of(text)


def mix_points(text: str, file: str) -> dict[int, dict[str, OperationPoint]]:
    """Returns the measurements of a mix by number of clients. The columns are clients, operation,
    rate_per_s, latency_s_mean and, if known, latency_s_p99.

    Raises InputError in these cases:
    - A column is missing, a value is no positive number, or a row occurs twice.
    - The rates contradict the number of clients.
    - There are fewer than two numbers of clients, or not all of them have the same operations.
    """
    points: dict[int, dict[str, OperationPoint]] = {}
    for row in csv_rows.rows(text, file, (CLIENTS, OPERATION, RATE, MEAN)):
        point = points.setdefault(row.whole(CLIENTS), {})
        operation = row.text(OPERATION)
        if operation in point:
            raise row.wrong(OPERATION, "occurs twice at this number of clients; give it once")
        point[operation] = OperationPoint(row.positive(RATE), row.positive(MEAN), row.known(P99))
    if len(points) < 2:
        counts = ", ".join(map(str, points)) or "none"
        raise InputError(CLIENTS, counts, "at least two numbers of clients are needed", file)
    for clients, point in points.items():
        _check_in_flight(clients, point, file)
    kinds = [sorted(point) for point in points.values()]
    for clients, point in points.items():
        if sorted(point) != kinds[0]:
            reason = f"the operations at every number of clients must be {', '.join(kinds[0])}"
            raise InputError(f"operations at {clients} clients", sorted(point), reason, file)
    return points


def _check_in_flight(clients: int, point: Mapping[str, OperationPoint], file: str) -> None:
    """Raises InputError if rates and mean latencies contradict the number of clients.

    By Little's law, rate times mean latency is the number of operations in flight. A client has at
    most one operation in flight.
    """
    in_flight = sum(one.rate_per_s * one.latency_s_mean for one in point.values())
    if in_flight > (1 + IN_FLIGHT_TOLERANCE) * clients:
        reason = (
            f"rate times {MEAN} gives {in_flight:.4g} operations in flight, more than one for each "
            "client; correct the rates, the latencies or the number of clients"
        )
        raise InputError(f"operations at {clients} clients", in_flight, reason, file)


def server_rows(text: str, file: str) -> list[ServerRow]:
    """Returns the rows of a table with the columns servers, operation, rate_per_s and, if known,
    placements. Raises InputError if a column is missing or a value is no positive number."""
    return [
        ServerRow(
            row.text(OPERATION),
            row.whole(SERVERS),
            row.positive(RATE),
            row.known(PLACED) or PLACEMENTS,
        )
        for row in csv_rows.rows(text, file, (SERVERS, OPERATION, RATE))
    ]
