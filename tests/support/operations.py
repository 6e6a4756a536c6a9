"""Operations of a stream as tests of nets write them down."""

from __future__ import annotations

from dfslab.documents.rows import PlannedOperation


def planned(
    client: int, number: int, operation: str, file: int, size_bytes: int, transfer_size_bytes: int
) -> PlannedOperation:
    """An operation at the start of a file that its client owns, in the first phase."""
    return PlannedOperation(
        client, number, operation, file, size_bytes, transfer_size_bytes, 0, client, 0
    )
