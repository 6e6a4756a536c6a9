"""Imports operation streams that dfslab's load generator recorded. A recording contains the start
time of each operation."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

from dfslab.imports import plain_file
from dfslab.imports.contract import Replay, StreamImporter
from dfslab.spec.streams.vocabulary import OPERATIONS, Given

TITLE = "A stream recorded by `dfslab measure --record`"
# The binary layout of a `Record`: an operation as core/workload/operation.rs writes it, followed by
# its start time.
RECORDED = struct.Struct("<IIQQQQQIIQ")
# Every recorded stream has fewer clients than this number. A file that begins with a larger client
# number is therefore not a recorded stream.
MOST_CLIENTS = 1 << 16


class Record(NamedTuple):
    """One operation of a client. `position`: number of the operation within its client, from 0.
    `kind`: index of the operation's type in OPERATIONS. `owner`: number of the client that owns the
    file.

    `begun_ns`: start time of the operation in ns after the start of the stream.
    """

    client: int
    kind: int
    position: int
    file: int
    size_bytes: int
    transfer_bytes: int
    offset_bytes: int
    owner: int
    phase: int
    begun_ns: int


def recognises(head: bytes) -> bool:
    """Whether the bytes begin with a valid record of a client's first operation."""
    if len(head) < RECORDED.size:
        return False
    one = Record._make(RECORDED.unpack(head[: RECORDED.size]))
    return one.client < MOST_CLIENTS and one.kind < len(OPERATIONS) and one.position == 0


def read(path: Path) -> Replay:
    """Returns the operations in a file. Raises ValueError if the file is no recorded stream."""
    with plain_file.unpacked(path) as file:
        return stream(file.read())


def stream(content: bytes) -> Replay:
    """Returns the operations in the bytes `content`. Raises ValueError if the bytes are no recorded
    stream."""
    if not content:
        raise ValueError("is empty: a recorded stream has at least one operation")
    if rest := len(content) % RECORDED.size:
        whole = f"each operation has {RECORDED.size} bytes"
        raise ValueError(f"is cut off or no recorded stream: {whole}, the last one has {rest}")
    found, counts = Replay(), dict[int, int]()
    latest_ns = dict[int, int]()
    for number, one in enumerate(map(Record._make, RECORDED.iter_unpack(content)), start=1):
        found.transfer_bytes = max(found.transfer_bytes, one.transfer_bytes)
        # Files of an older format have records without times. The size of such a file may by chance
        # be valid, but the operation numbers are then wrong.
        if one.position != counts.get(one.client, 0):
            stated = f"client {one.client} has no operation {one.position} now"
            raise ValueError(f"is no recorded stream: record {number}: {stated}")
        counts[one.client] = one.position + 1
        if one.kind >= len(OPERATIONS):
            stated = f"there is no operation {one.kind}"
            raise ValueError(f"is no recorded stream: record {number}: {stated}")
        if one.begun_ns < latest_ns.get(one.client, 0):
            before_s = latest_ns[one.client] * 1e-9
            stated = f"client {one.client} starts it at {one.begun_ns * 1e-9:g} s, but the "
            raise ValueError(f"record {number}: {stated}operation before at {before_s:g} s")
        latest_ns[one.client] = one.begun_ns
        found.given.append(
            Given(
                client=one.client,
                operation=OPERATIONS[one.kind],
                file=one.file,
                size_bytes=one.size_bytes,
                offset_bytes=one.offset_bytes,
                owner=one.owner,
            )
        )
        found.starts_s.append(one.begun_ns * 1e-9)
    return found


IMPORTER = StreamImporter(TITLE, recognises, read)
