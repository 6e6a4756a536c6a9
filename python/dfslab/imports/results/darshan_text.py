"""Reads the text that `darshan-parser --perf` and `darshan-parser --total` print. A file may have
the text of one of them or of both.

The mean time of a call is the sum of the calls' times in all processes, divided by the number of
calls. Darshan reports one rate for each of its modules (such as POSIX): all bytes divided by the
time of the slowest process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfslab.imports.tool_report import (
    MEBI,
    ResultReader,
    ToolMeasurement,
    ToolReport,
    in_line,
    line_at,
    number,
)

TITLE = "Darshan: the text of darshan-parser --perf and --total"
VERSION = re.compile(r"^# darshan log version: (\S+)", re.M)
FACT = re.compile(r"^# (exe|nprocs|start_time_asci\w*): (.+?)\s*$", re.M)
MARK = re.compile(rb"^(?:# agg_perf_by_slowest:|total_(?:POSIX|STDIO|MPIIO)_)", re.M)
MODULE = re.compile(r"^# (POSIX|STDIO|MPI-?IO|H5D|PNETCDF\w*) module data", re.M)
SLOWEST = re.compile(r"^# agg_perf_by_slowest: (\S+)")
TOTAL = re.compile(r"^total_(POSIX|STDIO)_(\w+): (\S+)", re.M)
# For each operation: (its name, the counters of its calls, the counter of the seconds in its
# calls).
TIMED = (("read", ("READS",), "F_READ_TIME"), ("write", ("WRITES",), "F_WRITE_TIME"))


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file has Darshan's rates or totals."""
    return b"darshan log version" in head and MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with the rate that each Darshan module reports, and with the mean times of
    the module's reads and writes. Raises ValueError if a number is malformed.
    """
    version, facts = VERSION.search(text), dict(FACT.findall(text))
    processes = facts.get("nprocs", "")
    clients = int(processes) if processes.isdigit() else None
    found = (*_rates(text, clients), *_times(text, clients))
    started = next((facts[key] for key in facts if key.startswith("start_time_asci")), "")
    return ToolReport(
        "Darshan", found, version[1] if version else "", "", started, facts.get("exe", "")
    )


def _rates(text: str, clients: int | None) -> Iterator[ToolMeasurement]:
    module = ""
    for place, line in enumerate(text.splitlines(), start=1):
        if heading := MODULE.match(line):
            module = heading[1]
        elif rate := SLOWEST.match(line):
            with in_line(place, "# agg_perf_by_slowest: MIB_PER_S"):
                per_s = number(rate[1], "agg_perf_by_slowest") * MEBI
            if per_s:
                part = f"{module} rate".strip()
                note = "reads and writes of all processes over the time of the slowest"
                yield ToolMeasurement(
                    part, "mixed", throughput_bytes_per_s=per_s, clients=clients, notes=(note,)
                )


def _times(text: str, clients: int | None) -> Iterator[ToolMeasurement]:
    totals: dict[tuple[str, str], float] = {}
    for one in _counters(text):
        with in_line(line_at(text, one.start(2)), "a counter and a number from 0 on"):
            totals[one[1], one[2]] = number(one[3], one[2])
    for module in ("POSIX", "STDIO"):
        for operation, counters, time in TIMED:
            calls = sum(totals.get((module, one), 0.0) for one in counters)
            took_s = totals.get((module, time))
            if calls and took_s is not None:
                yield ToolMeasurement(
                    f"{module} {operation}",
                    operation,
                    latency_s={"mean": took_s / calls},
                    clients=clients,
                )


def _counters(text: str) -> Iterator[re.Match[str]]:
    """Yields the lines of those counters that this module uses. Other counters may be negative.
    They are skipped, because a negative number would count as malformed.
    """
    used = {name for _, counters, time in TIMED for name in (*counters, time)}
    return (one for one in TOTAL.finditer(text) if one[2] in used)


READER = ResultReader(TITLE, recognises, read)
