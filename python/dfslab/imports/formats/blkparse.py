"""Imports requests to block devices from the output of `blkparse`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from dfslab.imports import plain_file
from dfslab.imports.contract import CallImporter, FileCall, Recording
from dfslab.spec.streams.vocabulary import OperationName

TITLE = "Requests to block devices: the text of blkparse"
# The fields of a line: device, processor, number, seconds, process, action, type, sector + number
# of sectors.
BLOCK_LINE = re.compile(
    r"^\s*(\d+,\d+)\s+\d+\s+\d+\s+([\d.]+)\s+(\d+)\s+Q\s+([A-Z]+)"
    r"\s+(\d+) \+ (\d+)"
)
SECTOR_BYTES = 512
# Pattern of the beginning of any line of blkparse, whatever the action in it is.
LINE = re.compile(rb"\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d+\s+\d+\s+[A-Z]+\s")


def recognises(head: bytes) -> bool:
    """Whether the bytes begin with a line of `blkparse`."""
    return LINE.match(head) is not None


def read(path: Path, recording: Recording) -> list[FileCall]:
    """Returns the requests in a file. A device is not in a directory, so `recording` is not
    used."""
    with plain_file.lines(path) as lines:
        return calls(lines)


def calls(lines: Iterable[str]) -> list[FileCall]:
    """Returns the reads and writes that the output of `blkparse` shows as queued.

    Each block device becomes one file. Offset 0 of the file is the lowest sector of the device that
    occurs in the trace.
    """
    found: list[tuple[str, float, int, OperationName, int, int]] = []
    for line in lines:
        if (part := BLOCK_LINE.match(line)) and (("R" in part[4]) != ("W" in part[4])):
            operation: OperationName = "pread" if "R" in part[4] else "pwrite"
            sector, sectors = int(part[5]), int(part[6])
            if sectors:
                found.append((part[1], float(part[2]), int(part[3]), operation, sector, sectors))
    lowest: dict[str, int] = {}
    for device, _, _, _, sector, _ in found:
        lowest[device] = min(sector, lowest.get(device, sector))
    found.sort(key=lambda one: one[1])
    return [
        FileCall(
            start_s,
            process,
            operation,
            device,
            (sector - lowest[device]) * SECTOR_BYTES,
            sectors * SECTOR_BYTES,
        )
        for device, start_s, process, operation, sector, sectors in found
    ]


IMPORTER = CallImporter(TITLE, recognises, read)
