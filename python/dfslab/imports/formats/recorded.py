"""Imports streams that the load generator recorded, with the start of each operation."""

from __future__ import annotations

import struct
from pathlib import Path

from dfslab.imports.contract import Replay, StreamImporter
from dfslab.spec.streams.vocabulary import OPERATIONS, Given

TITLE = "A stream recorded by `dfslab measure --record`"
# The record of core/workload/operation.rs: client, operation, index, file, bytes, bytes of a
# transfer, offset, owner, phase; then the start of the operation in ns after the start of the run.
RECORDED = struct.Struct("<IIQQQQQIIQ")
# More clients than a workload may have, so a file that begins with more is no stream.
MOST_CLIENTS = 1 << 16


def recognises(head: bytes) -> bool:
    """Whether the first record is the first operation of a client."""
    if len(head) < RECORDED.size:
        return False
    client, kind, index, *_ = RECORDED.unpack(head[: RECORDED.size])
    return bool(client < MOST_CLIENTS and kind < len(OPERATIONS) and index == 0)


def read(path: Path) -> Replay:
    """The operations in a file. ValueError if the file holds no stream."""
    return stream(path.read_bytes())


def stream(content: bytes) -> Replay:
    """The operations in `content`. ValueError if `content` is no recorded stream."""
    if not content or len(content) % RECORDED.size:
        raise ValueError(f"is no recorded stream: not a multiple of {RECORDED.size} bytes")
    found, counts = Replay(), dict[int, int]()
    for row in RECORDED.iter_unpack(content):
        client, kind, index, file, size, transfer, offset, owner, _, begun_ns = row
        found.transfer_bytes = max(found.transfer_bytes, transfer)
        # A file of an older format (without times) may have a valid size, so check the indices.
        if index != counts.get(client, 0):
            raise ValueError(f"is no recorded stream: client {client} has no operation {index} now")
        counts[client] = index + 1
        if kind >= len(OPERATIONS):
            raise ValueError(f"is no recorded stream: there is no operation {kind}")
        found.given.append(
            Given(
                client=client,
                operation=OPERATIONS[kind],
                file=file,
                size_bytes=size,
                offset_bytes=offset,
                owner=owner,
            )
        )
        found.starts_s.append(begun_ns * 1e-9)
    return found


IMPORTER = StreamImporter(TITLE, recognises, read)
