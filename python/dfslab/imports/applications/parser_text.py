"""Reads the I/O counters in the text that `darshan-parser FILE` prints. The text has the records of
every file. With the option `--total`, the text has only the sums of the records.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from dfslab.imports.applications.darshan_counters import (
    SHARED,
    FileRecord,
    LogContent,
    counters_of,
    finite,
)
from dfslab.imports.applications.io_counters import IoCounters
from dfslab.imports.tool_report import in_line

VERSION = "# darshan log version:"
HEAD = re.compile(r"^# (exe|nprocs|run time): (.+?)\s*$", re.M)
TOTAL = re.compile(r"^total_([A-Z0-9]+)_([A-Z0-9_]+): (\S+)", re.M)
# Lines of `darshan-parser --perf` and `--file` with facts that sums do not contain.
SLOWEST = re.compile(r"^# (?:unique files: |shared files: )?slowest_rank_io_time: (\S+)", re.M)
SHARED_SLOWEST = re.compile(r"^# shared files: time_by_slowest: (\S+)", re.M)
FILES = re.compile(r"^# (total|shared): (\d+) \d+", re.M)
MODULES = ("POSIX", "MPIIO", "STDIO")
# Columns of a line of a record: module, rank, record, counter, value, file.
COLUMNS = 6
EXPECTED = (
    "MODULE, RANK, RECORD, COUNTER, VALUE, FILE with tabs between them, as darshan-parser prints"
)


def recognises(head: bytes) -> bool:
    """Returns whether a file that begins with these bytes is a text of darshan-parser."""
    return VERSION.encode() in head


def read(text: str) -> IoCounters:
    """Returns the counters in a text of darshan-parser. Raises ValueError if the text has no
    counters of POSIX calls, or if a number is malformed."""
    facts = dict(HEAD.findall(text))
    processes = facts.get("nprocs", "")
    if not processes.isdigit() or int(processes) < 1:
        raise ValueError(f"nprocs is {processes[:40]!r}, must be the number of processes")
    run_time_s = finite(facts.get("run time", "0").split()[0], "run time")
    content = LogContent(
        program=facts.get("exe", ""), processes=int(processes), run_time_s=run_time_s
    )
    _add_records(text, content)
    if content.posix:
        return counters_of(content)
    return _of_totals(text, content)


def _add_records(text: str, content: LogContent) -> None:
    """Adds the records of a text that has a line for every counter of every file."""
    values: dict[tuple[str, int, str], dict[str, float]] = defaultdict(dict)
    for module, rank, file, name, value in _record_lines(text):
        values[module, rank, file][name] = value
    for (module, rank, file), own in values.items():
        record = FileRecord(rank, file, own)
        if module == "POSIX":
            content.posix.append(record)
        elif module == "MPIIO":
            content.mpi.append(record)
        elif module == "STDIO":
            content.other_bytes += round(record.size_bytes)
        elif module == "LUSTRE":
            _add_stripes(record, content)


def _add_stripes(record: FileRecord, content: LogContent) -> None:
    """Adds the layout of a file to `content`. Newer versions of Darshan record several layouts for
    a file: one for each component. Only the layout of the first component is added.
    """
    for prefix in ("", "COMP0_", "COMP1_", "COMP_"):
        if f"{prefix}STRIPE_SIZE" in record.values:
            count = round(record.value(f"{prefix}STRIPE_COUNT") or record.value("STRIPE_WIDTH"))
            content.stripes[record.file] = (count, round(record.value(f"{prefix}STRIPE_SIZE")))
            return


def _record_lines(text: str) -> Iterator[tuple[str, int, str, str, float]]:
    """Parses the lines that give the value of one counter of one file. Yields (module, rank, file
    name, counter, value) for each line.

    The counter's name lacks its module: BYTES_READ for POSIX_BYTES_READ. The file's name is as
    Darshan printed it.
    """
    known = {"POSIX": "POSIX", "MPI-IO": "MPIIO", "MPIIO": "MPIIO", "STDIO": "STDIO"}
    known["LUSTRE"] = "LUSTRE"
    for place, line in enumerate(text.splitlines(), start=1):
        parts = line.split("\t")
        if line.startswith("#") or parts[0] not in known:
            continue
        with in_line(place, EXPECTED):
            if len(parts) < COLUMNS:
                raise ValueError(f"has {len(parts)} of {COLUMNS} columns")
            name = parts[3].partition("_")[2]
            if parts[0] == "LUSTRE" and "STRIPE" not in name:
                continue
            rank = round(finite(parts[1], "rank"))
            value = finite(parts[4], parts[3])
        yield known[parts[0]], rank, parts[5], name, value


def _of_totals(text: str, content: LogContent) -> IoCounters:
    """Returns the counters of a text that has only sums over files and processes. Fields that
    cannot be computed from sums, such as the times of single processes, are marked as unknown.
    Raises ValueError if the text has no sums of POSIX calls.
    """
    totals: dict[str, dict[str, float]] = {module: {} for module in MODULES}
    for module, name, value in TOTAL.findall(text):
        if module in totals:
            totals[module][name] = finite(value, f"total_{module}_{name}")
    posix = totals["POSIX"]
    if not posix:
        raise ValueError("has no counters of POSIX calls (darshan-parser FILE prints them)")
    # The record is summed over all processes, so nothing is known about single processes.
    content.posix = [FileRecord(SHARED, "", posix)]
    content.mpi = [FileRecord(SHARED, "", totals["MPIIO"])] if totals["MPIIO"] else []
    content.other_bytes = round(FileRecord(SHARED, "", totals["STDIO"]).size_bytes)
    summed = counters_of(content)
    files = {kind: int(count) for kind, count in FILES.findall(text)}
    slowest_s = sum(finite(one, "slowest_rank_io_time") for one in SLOWEST.findall(text)[:1])
    slowest_s += sum(finite(one, "time_by_slowest") for one in SHARED_SLOWEST.findall(text)[:1])
    return replace(
        summed,
        files=files.get("total", 0),
        shared_files=files.get("shared", 0),
        slowest_rank_s=slowest_s or summed.slowest_rank_s or summed.sum_s / summed.processes,
        is_slowest_known=slowest_s > 0 or summed.slowest_rank_s > 0,
        active_ranks=None,
        heaviest_rank_bytes=None,
        reads=replace(summed.reads, extent_bytes=None),
        writes=replace(summed.writes, extent_bytes=None),
    )
