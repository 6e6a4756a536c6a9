"""Rows of the tables that the core returns, as named tuples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dfslab._core import OperationTable


class PlannedOperation(NamedTuple):
    """An operation of the stream of operations that a workload executes. The client `client`
    executes the operation, and `number` is the operation's number among those of this client.
    `owner` is the client that owns the file."""

    client: int
    number: int
    operation: str
    file: int
    size_bytes: int
    transfer_size_bytes: int
    offset_bytes: int
    owner: int
    phase: int


def operations(table: OperationTable) -> Iterator[PlannedOperation]:
    """Yields the operations of a table, row by row."""
    columns = (
        table.client,
        table.number,
        table.operation,
        table.file,
        table.size_bytes,
        table.transfer_size_bytes,
        table.offset_bytes,
        table.owner,
        table.phase,
    )
    yield from map(PlannedOperation, *columns)
