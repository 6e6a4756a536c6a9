"""Reads the text that `darshan-parser --perf` and `darshan-parser --total` print. A file may have
the text of one or of both of these commands.

The mean time of a call is the sum of the calls' times in all processes, divided by the number of
calls. Darshan reports one rate for each of its modules (such as POSIX): all bytes divided by the
time of the slowest process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfslab.imports.redundant import comparing
from dfslab.imports.redundant.comparing import Printed, printed
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
PERFORMANCE = re.compile(
    r"^# (?:(?:unique|shared) files: )?"
    r"(total_bytes|slowest_rank_io_time|time_by_slowest|agg_perf_by_slowest): ([\d.]+)"
)
BYTES, BY_SLOWEST = "total_bytes", "agg_perf_by_slowest"
# The times of the slowest process in files of one process, and in shared files.
SLOWEST_TIMES = ("slowest_rank_io_time", "time_by_slowest")
# Number of counters of calls by size, for each of reads and writes.
SIZES = 10
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
    The other counters are skipped, because a negative number would count as malformed.
    """
    used = {name for _, counters, time in TIMED for name in (*counters, time)}
    return (one for one in TOTAL.finditer(text) if one[2] in used)


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction: a rate that is not (all bytes) / (time of the slowest process),
    and counts of calls that do not agree with the counts by size and by order."""
    section: dict[str, tuple[int, Printed]] = {}
    for place, line in enumerate(text.splitlines(), start=1):
        if MODULE.match(line):
            section = {}
        elif fact := PERFORMANCE.match(line):
            section[fact[1]] = place, printed(fact[1], fact[2])
            if fact[1] == BY_SLOWEST and all(key in section for key in (BYTES, *SLOWEST_TIMES)):
                times = comparing.total([section[key][1] for key in SLOWEST_TIMES])
                moved = section[BYTES][1].scaled(1 / MEBI)
                how = f"{BYTES} / ({' + '.join(SLOWEST_TIMES)})"
                if times.value:
                    for wrong in comparing.unequal(section[fact[1]][1], moved / times, how):
                        yield f"line {place}: {wrong}"
    yield from _of_totals(text)


def _of_totals(text: str) -> Iterator[str]:
    totals = {
        (one[1], one[2]): (line_at(text, one.start(2)), int(one[3]))
        for one in TOTAL.finditer(text)
        if re.fullmatch(r"\d+", one[3])
    }
    for (module, name), (place, count) in totals.items():
        operation = name.removesuffix("S")
        sizes = [n for (of, key), (_, n) in totals.items() if of == module and _is_size(key, name)]
        if len(sizes) == SIZES and sum(sizes) != count:
            how = f"the sum of total_{module}_SIZE_{operation}_*"
            yield f"line {place}: total_{module}_{name} = {count}: contradicts {how}, {sum(sizes)}"
        for low in (f"SEQ_{name}", f"CONSEC_{name}"):
            at, part = totals.get((module, low), (place, 0))
            if part > count:
                at_most = f"must be at most total_{module}_{name} = {count}"
                yield f"line {at}: total_{module}_{low} = {part}: {at_most}"


def _is_size(key: str, name: str) -> bool:
    """Returns whether the key `key` is a counter of calls of one range of sizes. `name`: READS or
    WRITES."""
    return name in ("READS", "WRITES") and key.startswith(f"SIZE_{name.removesuffix('S')}_")


READER = ResultReader(TITLE, recognises, read, contradictions)
