"""Streams that the load generator recorded, with the start of each operation."""

from __future__ import annotations

import struct
from pathlib import Path

from dfslab.imports.contract import Replay, StreamImporter
from dfslab.spec.streams.vocabulary import OPERATIONS, Given

TITLE = "A stream recorded by `dfslab measure --record`"
# The canonical form of core/workload/operation.rs: client, kind, index, file, bytes, bytes of a
# transfer, offset, owner, phase; then when it was begun, ns after the start.
RECORDED = struct.Struct("<IIQQQQQIIQ")
# More clients than a load may have: what begins so is no stream.
MOST_CLIENTS = 1 << 16


def recognises(head: bytes) -> bool:
    """Whether the first record is the first operation of a client."""
    if len(head) < RECORDED.size:
        return False
    client, kind, index, *_ = RECORDED.unpack(head[: RECORDED.size])
    return bool(client < MOST_CLIENTS and kind < len(OPERATIONS) and index == 0)


def read(path: Path) -> Replay:
    """The stream in a file. ValueError if the file holds none."""
    return stream(path.read_bytes())


def stream(content: bytes) -> Replay:
    """A stream recorded by the load generator. ValueError if the content is no such stream."""
    if not content or len(content) % RECORDED.size:
        raise ValueError(f"is no recorded stream: not a multiple of {RECORDED.size} bytes")
    found, counts = Replay(), dict[int, int]()
    for row in RECORDED.iter_unpack(content):
        client, kind, index, file, size, transfer, offset, owner, _, begun_ns = row
        found.transfer_bytes = max(found.transfer_bytes, transfer)
        # An older format (without times) may have a matching file size: check the indices.
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
