"""Darshan's extended traces (DXT): single reads and writes by rank and file, with times.

A log is read by Darshan's own package; output of `darshan-dxt-parser` is read as text. Both record
an MPI-IO call and the POSIX calls that it made. For files with both, only the POSIX calls are kept,
because these reached the file system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dfslab.imports.strace import Done
from dfslab.spec.streams.vocabulary import OperationName

FILE = re.compile(r"^# DXT, file_id: \d+, file_name: (.*)$")
LINE = re.compile(
    r"^\s*X_(POSIX|MPIIO)\s+(\d+)\s+(read|write)\s+\d+\s+(\d+)\s+(\d+)"
    r"\s+([\d.]+)\s+([\d.]+)"
)
# Magic number: a log begins with its format version, as in "3.41".
MAGIC = re.compile(rb"\d+\.\d+\0")
POSIX, MPIIO = "POSIX", "MPIIO"
# Operation, and the name of its rows in a record.
SEGMENTS: tuple[tuple[OperationName, str], ...] = (
    ("pread", "read_segments"),
    ("pwrite", "write_segments"),
)

# (module that recorded the call, the call).
Record = tuple[str, Done]


def text(lines: Iterable[str]) -> list[Done]:
    """Calls in the output of `darshan-dxt-parser`."""
    return _below(_lines(lines))


def log(path: Path) -> list[Done]:
    """Calls in a log. ValueError if the file is no log or was recorded without DXT."""
    with path.open("rb") as file:
        if MAGIC.match(file.read(8)) is None:
            raise ValueError("is no Darshan log")
    from darshan import DarshanReport  # imported here because it takes a second

    try:
        report = DarshanReport(str(path), read_all=False)
    except RuntimeError as error:
        raise ValueError(f"is no Darshan log: {error}") from error
    modules = [one for one in (POSIX, MPIIO) if f"DXT_{one}" in report.modules]
    if not modules:
        raise ValueError("has no DXT records; DXT_ENABLE_IO_TRACE=1 records them")
    for module in modules:
        report.mod_read_all_dxt_records(f"DXT_{module}")
    return _below(record for module in modules for record in _records(report, module))


def _lines(lines: Iterable[str]) -> Iterator[Record]:
    path = ""
    for line in lines:
        if named := FILE.match(line):
            path = named[1].strip()
        elif part := LINE.match(line):
            operation: OperationName = "pread" if part[3] == "read" else "pwrite"
            start_s, offset, size = float(part[6]), int(part[4]), int(part[5])
            yield part[1], Done(start_s, int(part[2]), operation, path, offset, size)


def _records(report: Any, module: str) -> Iterator[Record]:
    for record in report.records[f"DXT_{module}"].to_df():
        path = report.name_records[record["id"]]
        for operation, key in SEGMENTS:
            rows = record[key]
            if not len(rows):
                continue
            columns = (rows[name].tolist() for name in ("start_time", "offset", "length"))
            for start_s, offset, size in zip(*columns, strict=True):
                done = Done(start_s, int(record["rank"]), operation, path, int(offset), int(size))
                yield module, done


def _below(records: Iterable[Record]) -> list[Done]:
    """The calls that reached the file system, sorted by time."""
    calls = [one for one in records if one[1].size_bytes > 0]
    of_posix = {done.path for module, done in calls if module == POSIX}
    found = [done for module, done in calls if module == POSIX or done.path not in of_posix]
    return sorted(found, key=lambda done: done.start_s)
