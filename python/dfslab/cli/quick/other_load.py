"""Tables of measured rates that `dfslab predict` extends to other numbers of clients or servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dfslab.documents.table import Table, TableCell, absent, count, heads, number_text, words
from dfslab.models.scaling import closed_mix, hardware_table, hashed_placement, load_table
from dfslab.models.scaling.closed_mix import Interval, OperationPrediction
from dfslab.spec import units
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError

MIX_NOTE = (
    "90 % intervals. The mix is a delay and one station that serves faster with a longer queue."
)
SERVERS_NOTE = (
    "90 % intervals. The clients grow in proportion to the servers. Data are placed by a hash, so "
    "the server with the most placements limits the rate."
)


@dataclass(frozen=True)
class Scaling:
    """The predictions for a table of measured rates: `document` for programs, `table` for
    people."""

    document: list[dict[str, object]]
    table: Table


def is_of_rates(path: Path, has_counts: bool) -> bool:
    """Returns whether the CSV table in `path` has measured rates instead of hardware. `has_counts`:
    whether the command line has numbers of clients or servers.

    A table with the columns of a hardware table has no rates. For any other table, the result is
    true if `has_counts` is true or if the table has the columns of a table of rates. If such a
    table lacks a column, its reader later raises an error that names the column.
    """
    text = inputs.text("TABLE", path)
    is_of_hardware = hardware_table.is_of_systems(text)
    return not is_of_hardware and (has_counts or load_table.is_of_rates(text))


def scaling(path: Path, clients: str, servers: str) -> Scaling:
    """Returns predictions from the CSV table of measured rates in `path`. `clients` and `servers`
    are texts such as "4,64": the numbers for which rates are predicted. Only one of the two texts
    is used: `servers` if the table has a column of servers, otherwise `clients`. Raises InputError
    if the used text is empty or malformed, or if the other text is given."""
    text = inputs.text("TABLE", path)
    if load_table.is_of_servers(text):
        if clients:
            raise InputError("--clients", clients, f"{path} has servers; use --servers")
        return _of_servers(text, str(path), _counts("--servers", servers))
    if servers:
        raise InputError("--servers", servers, f"{path} has no column servers; use --clients")
    return _of_clients(text, str(path), _counts("--clients", clients))


def _of_clients(text: str, file: str, wanted: Sequence[int]) -> Scaling:
    mix = closed_mix.fit(load_table.mix_points(text, file))
    found = [(clients, one) for clients in wanted for one in mix.predict(clients)]
    rows = [_mix_row(clients, one) for clients, one in found]
    titles = ("clients", "operation", "rate (1/s)", "mean response", "p99 response")
    table = Table("Predicted from the table", heads(*titles, left=["operation"]), rows, [MIX_NOTE])
    return Scaling([{"clients": clients, **asdict(one)} for clients, one in found], table)


def _mix_row(clients: int, one: OperationPrediction) -> list[TableCell]:
    tail = one.latency_s_p99
    return [
        count(clients),
        words(one.operation),
        _rate(one.rate_per_s),
        _seconds(one.latency_s_mean),
        absent() if tail is None else _seconds(tail),
    ]


def _of_servers(text: str, file: str, wanted: Sequence[int]) -> Scaling:
    rows = load_table.server_rows(text, file)
    largest = {one.operation: one for one in sorted(rows, key=lambda one: one.servers)}
    found = [
        hashed_placement.scaled(one.operation, one.rate_per_s, one.servers, servers, one.placements)
        for servers in wanted
        for one in largest.values()
    ]
    cells = [
        [
            count(one.servers),
            words(one.operation),
            _rate(Interval(one.rate_per_s, one.low_per_s, one.high_per_s)),
            TableCell(one.proportional_per_s, number_text(one.proportional_per_s)),
        ]
        for one in found
    ]
    columns = heads("servers", "operation", "rate (1/s)", "in proportion", left=["operation"])
    table = Table("Predicted from the table", columns, cells, [SERVERS_NOTE])
    return Scaling([asdict(one) for one in found], table)


def _rate(one: Interval) -> TableCell:
    low, value, high = (number_text(each) for each in (one.low, one.value, one.high))
    return TableCell(one.value, value, f"{low} to {high}", one.low, one.high)


def _seconds(one: Interval) -> TableCell:
    low, value, high = (units.text(each, "s", 3) for each in (one.low, one.value, one.high))
    return TableCell(one.value, value, f"{low} to {high}", one.low, one.high)


def _counts(option: str, text: str) -> list[int]:
    """Returns the whole numbers in a text such as "4,64". Raises InputError if the text is empty or
    has something else."""
    most = closed_mix.MOST_CLIENTS
    allowed = f"needs whole numbers from 1 to {most}, separated by commas, such as 4,64"
    try:
        found = [int(one) for one in text.split(",")]
    except ValueError:
        raise InputError(option, text or None, allowed) from None
    if any(not 1 <= one <= most for one in found):
        raise InputError(option, text, allowed)
    return found
