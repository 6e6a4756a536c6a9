"""Reads the table that elbencho 1 to 3 writes with `--csvfile`. The table has one row for each
phase.

elbencho reports two values of each rate: one until the first thread of the phase ends, and one
until the last thread ends. The reader takes the second value. The reader finds columns by name and
ignores upper and lower case, because the releases of elbencho write the names differently.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from dfslab.imports.fio_evidence import size_bytes
from dfslab.imports.job_settings import JobSettings
from dfslab.imports.redundant import comparing
from dfslab.imports.tool_report import (
    MEBI,
    ResultReader,
    ToolMeasurement,
    ToolReport,
    in_line,
    number,
)

TITLE = "elbencho: its CSV"
MARK = re.compile(rb"(?i)^[^\n]*\biops \[last\][^\n]*\bmib/s \[last\]")
OPERATIONS = {
    "write": "write",
    "read": "read",
    "mkdirs": "mkdir",
    "rmdirs": "rmdir",
    "rmfiles": "delete",
    "stat": "stat",
    "statfiles": "stat",
    "mkbuckets": "mkdir",
    "rmbuckets": "rmdir",
    "rmobjects": "delete",
    "headobjects": "stat",
}
MICROSECOND_S = 1e-6
MILLISECOND_S = 1e-3
# Options of the command line, whose values follow a space or "=".
OPTIONS = {
    "transfer": re.compile(r" (?:-b|--block)[ =]?(\S+)"),
    "file": re.compile(r" (?:-s|--size)[ =]?(\S+)"),
    "queue_depth": re.compile(r" --iodepth[ =](\S+)"),
}

EXPECTED = "the columns of elbencho's header, with numbers from 0 on"


def recognises(head: bytes) -> bool:
    """Returns whether the first line of a file has elbencho's columns."""
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with one measurement for every row that has a rate. Raises ValueError if a
    number is malformed."""
    table = csv.DictReader(text.splitlines())
    rows = [(table.line_num, _stripped(row)) for row in table]
    counts: dict[str, int] = {}
    found = []
    for place, row in rows:
        if row.get("operation", "").lower() == "operation":
            continue  # the heading, which each run that appends repeats
        with in_line(place, EXPECTED):
            if one := _measured(row, counts):
                found.append(one)
    first = rows[0][1] if rows else {}
    origin = (first.get("version", ""), first.get("iso date", ""), first.get("command", ""))
    return ToolReport("elbencho", tuple(found), origin[0], started=origin[1], command=origin[2])


def _stripped(row: dict[str, str]) -> dict[str, str]:
    """Returns a row without spaces around its texts. The names of the columns are in lower case."""
    return {key.strip().lower(): (value or "").strip() for key, value in row.items() if key}


def _measured(row: dict[str, str], counts: dict[str, int]) -> ToolMeasurement | None:
    name = row.get("operation", "")
    transfers_per_s = _number(row, "iops [last]")
    rate = transfers_per_s or _number(row, "entries/s [last]")
    mebibytes = _number(row, "mib/s [last]")
    if not name or (rate is None and mebibytes is None):
        return None
    label = row.get("label", "")
    part = f"{label}, {name.lower()}" if label else name.lower()
    repetition = counts[part] = counts.get(part, -1) + 1
    threads, hosts = _number(row, "threads"), _number(row, "hosts")
    mean_us = _number(row, "io lat us [avg]") or _number(row, "ent lat us [avg]")
    return ToolMeasurement(
        part,
        OPERATIONS.get(name.lower(), "mixed"),
        rate,
        None if mebibytes is None else mebibytes * MEBI,
        {"mean": mean_us * MICROSECOND_S} if mean_us else {},
        clients=int(threads * max(hosts or 1, 1)) if threads else None,
        repetition=repetition,
        counts_transfers=bool(transfers_per_s),
        settings=_settings(row.get("command", "")),
    )


def _settings(command: str) -> JobSettings:
    """Returns the settings in a command line. elbencho's sizes have the suffixes K, M, G and T,
    which are powers of 1024."""
    given = {key: found[1] for key, one in OPTIONS.items() if (found := one.search(command))}
    depth = given.get("queue_depth", "")
    return JobSettings(
        size_bytes(given.get("transfer", "")),
        size_bytes(given.get("file", "")),
        queue_depth=int(depth) if depth.isdigit() else None,
        is_random=" --rand" in command if command else None,
        is_direct=" --direct" in command if command else None,
    )


def _number(row: dict[str, str], key: str) -> float | None:
    return number(row[key], key) if row.get(key) else None


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction within a row: a rate that is not (entries or bytes) / time, and
    latencies that do not ascend from the smallest to the largest latency."""
    table = csv.DictReader(text.splitlines())
    for row in table:
        for wrong in _of_row(_stripped(row)):
            yield f"line {table.line_num}: {wrong}"


def _of_row(row: dict[str, str]) -> Iterator[str]:
    if row.get("operation", "").lower() == "operation":
        return
    for which in ("first", "last"):
        time = comparing.optional(row, f"time ms [{which}]")
        for count, rate in (("entries", "entries/s"), ("mib", "mib/s")):
            done = comparing.optional(row, f"{count} [{which}]")
            stated = comparing.optional(row, f"{rate} [{which}]")
            if time and time.value and done and stated:
                how = f"{count} / time ms"
                yield from comparing.unequal(stated, done / time.scaled(MILLISECOND_S), how)
    for kind in ("ent", "io"):
        times = [f"{kind} lat us [{one}]" for one in ("min", "avg", "max")]
        yield from comparing.falling([comparing.optional(row, one) for one in times])


READER = ResultReader(TITLE, recognises, read, contradictions)
