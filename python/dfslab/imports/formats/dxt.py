"""Imports the text form of Darshan's extended traces (DXT), which lists every read and write by
rank and file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from dfslab.imports import plain_file
from dfslab.imports.contract import CallImporter, FileCall, Recording
from dfslab.imports.darshan_calls import ModuleCall, calls_of_lowest
from dfslab.spec.streams.vocabulary import OperationName

TITLE = "Darshan's extended trace (DXT): the text of darshan-dxt-parser"
FILE = re.compile(r"^# DXT, file_id: \d+, file_name: (.*)$")
LINE = re.compile(
    r"^\s*X_(POSIX|MPIIO)\s+(\d+)\s+(read|write)\s+\d+\s+(\d+)\s+(\d+)"
    r"\s+(\d+(?:\.\d+)?)\s+(\d+\.\d+)(?:\s|$)"
)
# Rows of other modules, and rows of MPI-IO without an offset, as Darshan 3.1 prints them.
OTHER = re.compile(r"^\s*X_(?:(?!POSIX|MPIIO)\w+|MPIIO\s+\d+\s+(?:read|write)\s+\d+\s+(?:-|N/A))\s")
EXPECTED = (
    "expected X_POSIX or X_MPIIO, RANK, read or write, SEGMENT OFFSET LENGTH START END, as "
    "darshan-dxt-parser prints; run it again"
)
MARK = b"# DXT, file_id: "


def recognises(head: bytes) -> bool:
    """Whether the bytes contain the header line that a DXT text has."""
    return MARK in head


def read(path: Path, recording: Recording) -> list[FileCall]:
    """Returns the calls in a DXT text. DXT has full paths, so `recording` is not used."""
    with plain_file.lines(path) as lines:
        return text(lines)


def text(lines: Iterable[str]) -> list[FileCall]:
    """Returns the calls in the output of `darshan-dxt-parser` that reached the file system. Raises
    ValueError with the number of the first malformed line."""
    return calls_of_lowest(_lines(lines))


def _lines(lines: Iterable[str]) -> Iterator[ModuleCall]:
    path = ""
    for number, line in enumerate(lines, start=1):
        if named := FILE.match(line):
            path = named[1].strip()
        elif part := LINE.match(line):
            if not path:
                raise ValueError(f"line {number}: no line before names its file; {EXPECTED}")
            yield part[1], _call(part, path, number)
        elif line.strip() and not line.startswith("#") and not OTHER.match(line):
            raise ValueError(f"line {number}: {line.strip()[:60]!r} is malformed; {EXPECTED}")


def _call(part: re.Match[str], path: str, number: int) -> FileCall:
    operation: OperationName = "pread" if part[3] == "read" else "pwrite"
    start_s, end_s = float(part[6]), float(part[7])
    if end_s < start_s:
        raise ValueError(f"line {number}: ends at {end_s} s, before its start at {start_s} s")
    return FileCall(
        start_s,
        int(part[2]),
        operation,
        path,
        offset_bytes=int(part[4]),
        size_bytes=int(part[5]),
        call=part[3],
        duration_s=end_s - start_s,
    )


IMPORTER = CallImporter(TITLE, recognises, read)
