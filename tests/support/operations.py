"""Shortens the way in which tests of nets write operations of a stream."""

from __future__ import annotations

from dfslab.documents.rows import PlannedOperation


def planned(
    client: int, number: int, operation: str, file: int, size_bytes: int, transfer_size_bytes: int
) -> PlannedOperation:
    """Returns an operation of the first phase, which starts at offset 0 of a file that its client
    owns."""
    return PlannedOperation(
        client, number, operation, file, size_bytes, transfer_size_bytes, 0, client, 0
    )
