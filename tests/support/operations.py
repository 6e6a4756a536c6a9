"""Functions with which tests of nets write the operations of a stream in a short form."""

from __future__ import annotations

from dfslab.documents.rows import PlannedOperation


def planned(
    client: int, number: int, operation: str, file: int, size_bytes: int, transfer_size_bytes: int
) -> PlannedOperation:
    """Returns an operation of the run's first phase. The operation starts at offset 0 of a file
    that belongs to `client`."""
    return PlannedOperation(
        client, number, operation, file, size_bytes, transfer_size_bytes, 0, client, 0
    )
