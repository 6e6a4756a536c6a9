"""Reads the text that MinIO's warp, versions 0 and 1, prints. The report has the rate of each type
of operation and the total rate of all types.

In warp's text, KiB, MiB and GiB are powers of 1024. MB and GB, which warp prints on request, are
powers of 1000.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfslab.imports.redundant import comparing
from dfslab.imports.redundant.comparing import Printed, printed
from dfslab.imports.tool_report import (
    ResultReader,
    ToolMeasurement,
    ToolReport,
    in_line,
    line_at,
    number,
)

TITLE = "warp: its text"
HEADING = re.compile(
    r"^\s*(?:Operation|Report): ([A-Z]+|Total)\b(?:[^\n]*?Concurrency: (\d+))?", re.M
)
MARK = re.compile(rb"^\s*(?:Operation|Report): (?:[A-Z]+|Total)\b[^\n]*\n[^\0]*?obj/s", re.M)
AVERAGE = re.compile(
    r"^\s*\* (?:Average|Throughput): (?:([\d.]+) ?([KMGT]?i?B)/s, )?([\d.]+) obj/s", re.M
)
TIMES = re.compile(r"^\s*\* Reqs: (.*)$", re.M)
TIME = re.compile(r"(Avg|\d+(?:\.\d+)?%): ([\d.]+)(ns|us|µs|ms|s)\b")
ANY_TIME = re.compile(r"(Avg|Fastest|Slowest|\d+(?:\.\d+)?%): ([\d.]+)(ns|us|µs|ms|s)\b")
TOTAL = "Total"
STATISTICS = {"Avg": "mean", "50%": "p50", "90%": "p90", "99%": "p99", "99.9%": "p999"}
UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
OPERATIONS = {"PUT": "write", "GET": "read", "DELETE": "delete", "STAT": "stat", "LIST": "list"}
ERRORS = re.compile(r"^\s*(?:\* )?Errors: (\d+)", re.M)

EXPECTED = "* Average: MIB/s, RATE obj/s, followed by latencies"


def recognises(head: bytes) -> bool:
    """Returns whether a file comes from warp. The beginning of such a file has the name of a type
    of operation, and a rate in objects per second.
    """
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with one measurement for every type of operation. Raises ValueError if a
    number is malformed."""
    headings = list(HEADING.finditer(text))
    ends = [*(one.start() for one in headings[1:]), len(text)]
    found = []
    for heading, end in zip(headings, ends, strict=False):
        block = text[heading.end() : end]
        if average := AVERAGE.search(block):
            with in_line(line_at(text, heading.end() + average.start()), EXPECTED):
                found.append(_measured(heading, average, block))
    return ToolReport("warp", tuple(found))


def _measured(heading: re.Match[str], average: re.Match[str], block: str) -> ToolMeasurement:
    latency = {}
    if times := TIMES.search(block):
        latency = {
            STATISTICS[name]: number(value, name) * UNITS_S[unit]
            for name, value, unit in TIME.findall(times[1])
            if name in STATISTICS
        }
    errors = ERRORS.search(block)
    failed = int(errors[1]) if errors else 0
    return ToolMeasurement(
        heading[1],
        OPERATIONS.get(heading[1], "mixed"),
        number(average[3], "obj/s"),
        _bytes(average[1], average[2]) if average[1] else None,
        latency,
        int(heading[2]) if heading[2] else None,
        complete=not failed,
        notes=(f"{failed} operations failed",) if failed else (),
    )


def _bytes(value: str, unit: str) -> float:
    base = 1024 if "i" in unit else 1000
    return number(value, "the throughput") * base ** POWERS[unit.rstrip("iB")]


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction: times or rates of an operation that are not in order, and a total
    rate that is not the sum over the operations."""
    headings = list(HEADING.finditer(text))
    ends = [*(one.start() for one in headings[1:]), len(text)]
    rates: list[Printed] = []
    for heading, end in zip(headings, ends, strict=False):
        block = text[heading.end() : end]
        wrongs = _of_block(block)
        if average := AVERAGE.search(block):
            stated = printed("obj/s", average[3])
            if heading[1] == TOTAL and rates:
                summed = comparing.total(rates)
                how = "the sum over the operations"
                wrongs += comparing.unequal(stated, summed, how, comparing.APART)
            rates.append(stated)
        for wrong in wrongs:
            yield f"line {line_at(text, heading.start(1))}: {heading[1]}: {wrong}"


def _of_block(block: str) -> list[str]:
    """Returns the contradictions in the times of the requests of one operation."""
    times = TIMES.search(block)
    if times is None:
        return []
    known = {
        name: printed(name, value).scaled(UNITS_S[unit])
        for name, value, unit in ANY_TIME.findall(times[1])
    }
    shares = sorted((name for name in known if name.endswith("%")), key=lambda one: float(one[:-1]))
    ordered = [known.get("Fastest"), *(known[name] for name in shares), known.get("Slowest")]
    mean = [known.get(name) for name in ("Fastest", "Avg", "Slowest")]
    return [*comparing.falling(ordered), *comparing.falling(mean)]


READER = ResultReader(TITLE, recognises, read, contradictions)
