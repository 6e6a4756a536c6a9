"""Imports requests to block devices from the output of `blkparse`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from dfslab.imports import plain_file
from dfslab.imports.contract import CallImporter, FileCall, Recording
from dfslab.spec.streams.vocabulary import OperationName

TITLE = "Requests to block devices: the text of blkparse"
# The fields of a line: device, processor, number, seconds, process, action, type, sector + number
# of sectors.
BLOCK_LINE = re.compile(
    r"^\s*(\d+,\d+)\s+\d+\s+\d+\s+(\d+\.\d+)\s+(\d+)\s+([QC])\s+([A-Z]+)"
    r"\s+(\d+) \+ (\d+)\b"
)
# A line of any action, and the beginning of the summary after the last of these lines.
ANY_LINE = re.compile(r"^\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d+\s+\d+\s+(\w+)(?:\s+([A-Z]+)\b)?")
SUMMARY = re.compile(r"^(?:CPU\d+|Total|Throughput|Events|Skips)\b")
EXPECTED = (
    "expected DEVICE CPU NUMBER SECONDS PROCESS ACTION TYPE SECTOR + SECTORS, as blkparse prints "
    "without -f; remove the line, or record again"
)
SECTOR_BYTES = 512
# Pattern of the beginning of any line of blkparse, whatever the action in it is.
LINE = re.compile(rb"\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d+\s+\d+\s+[A-Z]+\s")


class _Request(NamedTuple):
    """A queued request to a block device. Its first sector and its number of sectors are in units
    of 512 bytes."""

    start_s: float
    process: int
    operation: OperationName
    device: str
    sector: int
    sectors: int


def recognises(head: bytes) -> bool:
    """Whether the bytes begin with a line of `blkparse`."""
    return LINE.match(head) is not None


def read(path: Path, recording: Recording) -> list[FileCall]:
    """Returns the requests in a file. `recording` is not used: it selects operations by directory,
    and a request to a block device has no directory.
    """
    with plain_file.lines(path) as lines:
        return calls(lines)


def calls(lines: Iterable[str]) -> list[FileCall]:
    """Returns the reads and writes that `blkparse` reports as queued. Raises ValueError with the
    number of the first line that blkparse does not print.

    Each block device becomes one file. The lowest sector of the device that occurs in the trace
    becomes offset 0 of the file.
    """
    found: list[_Request] = []
    completed_s: dict[tuple[str, int, int], list[float]] = {}
    for part in _requests(lines):
        key, time_s = (part[1], int(part[6]), int(part[7])), float(part[2])
        if part[4] == "C":
            completed_s.setdefault(key, []).append(time_s)
        else:
            operation: OperationName = "pread" if "R" in part[5] else "pwrite"
            found.append(_Request(time_s, int(part[3]), operation, *key))
    lowest: dict[str, int] = {}
    for one in found:
        lowest[one.device] = min(one.sector, lowest.get(one.device, one.sector))
    found.sort(key=lambda one: one.start_s)
    ends = {key: sorted(times, reverse=True) for key, times in completed_s.items()}
    return [_call(one, lowest[one.device], ends) for one in found]


def _requests(lines: Iterable[str]) -> Iterator[re.Match[str]]:
    """Yields the lines on queued and completed reads and writes that move data. Raises ValueError
    for a line in another format, unless it belongs to the summary at the end."""
    in_summary = False
    for number, line in enumerate(lines, start=1):
        if not (kind := ANY_LINE.match(line)):
            in_summary = in_summary or SUMMARY.match(line) is not None
            if line.strip() and (not in_summary or line.lstrip()[:1].isdigit()):
                raise ValueError(f"line {number}: {line.strip()[:60]!r} is malformed; {EXPECTED}")
            continue
        types = kind[2] or ""
        # A flush moves no data, so it has no sectors.
        if kind[1] not in ("Q", "C") or ("R" in types) == ("W" in types):
            continue
        part = BLOCK_LINE.match(line)
        if part is None and "F" not in types:
            raise ValueError(f"line {number}: {line.strip()[:60]!r} has no sectors; {EXPECTED}")
        if part is not None and int(part[7]):
            yield part


def _call(one: _Request, lowest: int, ends: dict[tuple[str, int, int], list[float]]) -> FileCall:
    """Converts a request to a call.

    `lowest` is the first sector of the file. `ends` has the completion times of equal requests in
    seconds, the latest first, by (device, sector, sectors). The call ends at the earliest of these
    times after its start. This time is removed from the list.
    """
    times = ends.get((one.device, one.sector, one.sectors), [])
    while times and times[-1] < one.start_s:
        times.pop()
    return FileCall(
        one.start_s,
        one.process,
        one.operation,
        one.device,
        offset_bytes=(one.sector - lowest) * SECTOR_BYTES,
        size_bytes=one.sectors * SECTOR_BYTES,
        call="read" if one.operation == "pread" else "write",
        duration_s=times.pop() - one.start_s if times else None,
    )


IMPORTER = CallImporter(TITLE, recognises, read)
