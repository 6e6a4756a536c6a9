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
    r"\s+([\d.]+)\s+([\d.]+)"
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
    """Returns the calls in the output of `darshan-dxt-parser` that reached the file system."""
    return calls_of_lowest(_lines(lines))


def _lines(lines: Iterable[str]) -> Iterator[ModuleCall]:
    path = ""
    for line in lines:
        if named := FILE.match(line):
            path = named[1].strip()
        elif part := LINE.match(line):
            operation: OperationName = "pread" if part[3] == "read" else "pwrite"
            start_s, end_s = float(part[6]), float(part[7])
            yield (
                part[1],
                FileCall(
                    start_s,
                    int(part[2]),
                    operation,
                    path,
                    offset_bytes=int(part[4]),
                    size_bytes=int(part[5]),
                    call=part[3],
                    duration_s=end_s - start_s,
                ),
            )


IMPORTER = CallImporter(TITLE, recognises, read)
