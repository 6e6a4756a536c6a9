"""Converts between rows (tuples) and the column tables of the Rust core."""

from __future__ import annotations

from collections.abc import Iterable

from dfslab import _core

# The fields of a row are (name, start and end in Unix ns, span id, span id of the parent or 0 for a
# root, thread, number of bytes).
SpanRow = tuple[str, int, int, int, int, int, int]


def span_table(rows: Iterable[SpanRow]) -> _core.SpanTable:
    """Returns a table of spans of a workload run, made from rows."""
    columns: list[list[object]] = [[] for _ in range(7)]
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return _core.SpanTable(*columns)


def span_rows(table: _core.SpanTable) -> list[SpanRow]:
    """Returns the spans of a table as rows."""
    columns = (
        table.name,
        table.start_unix_ns,
        table.end_unix_ns,
        table.span_id,
        table.parent_id,
        table.thread,
        table.bytes,
    )
    return list(zip(*columns, strict=True))
