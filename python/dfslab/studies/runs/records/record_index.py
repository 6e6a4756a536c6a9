"""The index of a run's records. The index has the position and length of each record, so a run can
be opened without reading its results.

The first line of the index has the identifier of the run; every further line describes one record.
Each line is a CRC-32 and a JSON list. Entries that are missing or damaged are computed again from
the records.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dfslab.spec.files import regular
from dfslab.spec.files.outputs import write_atomically
from dfslab.studies.runs.records.record import ResultKey


class IndexEntry(NamedTuple):
    """The entry of one intact record: the offset of its first byte, its length in bytes, its
    number, its key, and whether its result is complete."""

    offset: int
    size_bytes: int
    number: int
    key: ResultKey
    complete: bool

    @property
    def end(self) -> int:
        """Returns the offset of the first byte after the record."""
        return self.offset + self.size_bytes


def read(path: Path, run: str) -> list[IndexEntry]:
    """Returns the entries of the index up to the first damaged entry. Returns an empty list if
    there is no index of the run with the identifier `run`."""
    try:
        first, *lines = regular.content(path).splitlines()
    except (OSError, ValueError):
        return []
    if first != _line([run])[:-1]:
        return []
    intact = []
    for line in lines:
        if line[:8] != b"%08x" % zlib.crc32(line[9:]):
            break
        intact.append(line[9:])
    rows = json.loads(b"[" + b",".join(intact) + b"]")
    return [
        IndexEntry(offset, size, number, ResultKey(method, point, repetition), complete)
        for offset, size, number, method, point, repetition, complete in rows
    ]


def write(path: Path, run: str, entries: Iterable[IndexEntry]) -> None:
    """Writes the whole index. If the folder is not writable, no index is written and no error is
    raised."""
    with suppress(OSError):
        write_atomically(path, _line([run]) + _lines(entries))


def append(path: Path, entries: Iterable[IndexEntry]) -> None:
    """Appends entries to an index. If the write fails, for example because the disk is full, no
    error is raised, because missing entries are later computed from the records."""
    with suppress(OSError):
        descriptor = regular.opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with os.fdopen(descriptor, "ab") as file:
            file.write(_lines(entries))


def _lines(entries: Iterable[IndexEntry]) -> bytes:
    return b"".join(
        _line([one.offset, one.size_bytes, one.number, *one.key, one.complete]) for one in entries
    )


def _line(row: list[int | str]) -> bytes:
    written = json.dumps(row, separators=(",", ":")).encode()
    return b"%08x %b\n" % (zlib.crc32(written), written)
