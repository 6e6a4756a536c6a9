"""The index of a run's records: where each record begins, so that a run opens without reading its
results.

The index is derived: whatever is missing or damaged in it is read from the records again. Each line
is a CRC-32 and a JSON list; the first line has the identifier of the run.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dfslab.spec.files.outputs import write_atomically
from dfslab.studies.runs.records.record import ResultKey


class IndexEntry(NamedTuple):
    """One intact record: first byte, length in bytes, number, key, and whether the result is
    complete."""

    offset: int
    size_bytes: int
    number: int
    key: ResultKey
    complete: bool

    @property
    def end(self) -> int:
        """The first byte behind the record."""
        return self.offset + self.size_bytes


def read(path: Path, run: str) -> list[IndexEntry]:
    """The entries of the index of the run with the identifier `run`, up to the first damaged one;
    none if there is no index of that run."""
    try:
        first, *lines = path.read_bytes().splitlines()
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
    """Writes the whole index. A folder that cannot be written keeps none."""
    with suppress(OSError):
        write_atomically(path, _line([run]) + _lines(entries))


def append(path: Path, entries: Iterable[IndexEntry]) -> None:
    """Adds entries to an index. Without room for them, they are read from the records again."""
    with suppress(OSError), path.open("ab") as file:
        file.write(_lines(entries))


def _lines(entries: Iterable[IndexEntry]) -> bytes:
    return b"".join(
        _line([one.offset, one.size_bytes, one.number, *one.key, one.complete]) for one in entries
    )


def _line(row: list[int | str]) -> bytes:
    written = json.dumps(row, separators=(",", ":")).encode()
    return b"%08x %b\n" % (zlib.crc32(written), written)
