"""Rows that the core returns in bulk, as named tuples."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A logical operation, or a primitive step of one (`parent_id` is 0 for an operation).

    Times are Unix times in nanoseconds; `thread` is the number of the client.
    """

    name: str
    start_unix_ns: int
    end_unix_ns: int
    span_id: int
    parent_id: int
    thread: int
    bytes: int


class PlannedOperation(NamedTuple):
    """An operation of a stream: the `number`-th of a client; `owner` is the client that owns the
    file."""

    client: int
    number: int
    operation: str
    file: int
    size_bytes: int
    transfer_size_bytes: int
    offset_bytes: int
    owner: int
    phase: int
