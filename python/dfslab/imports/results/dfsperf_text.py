"""Reads the total report of DFS-Perf (`report-TASK`). The report has the rate of each statistic,
summed over all threads.

Pitfalls: DFS-Perf's MB is 2^20 bytes. The rate of a thread is taken over the run time of this
thread, and a total is the sum of these rates. A thread that ends early therefore counts as if it
had continued.
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

TITLE = "DFS-Perf: its total report"
HEADING = re.compile(r"^(\w+) Test - ID : (\d+)\s*$", re.M)
MARK = re.compile(rb"^\w+ Test - ID : \d+\s*\n(?:Finished Successfully|Failed: )", re.M)
FAILED = re.compile(r"^Failed: (\d+) slaves failed", re.M)
STATISTICS = "********** Statistics **********"
THREADS = re.compile(r"^\S+'s (.+?) for each threads:\s*\n\s*(\[.*\])\s*$", re.M)
BY_SLAVE = re.compile(r"^(\S+)'s (.+?) for each threads:\s*\n\s*(\[.*\])\s*$", re.M)
TOTAL = "Total"
THROUGHPUT, RATE = "Throughput(MB/s)", "Rate(ops/sec)"
SUM_OF_RATES = "the sum of the threads' rates, each over the time of that thread"


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file has the heading of a total report."""
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with one measurement for every statistic. Raises ValueError if the table of
    totals is malformed."""
    heading, failed = HEADING.search(text), FAILED.search(text)
    notes = [SUM_OF_RATES]
    if failed:
        notes.append(f"DFS-Perf reports {failed[1]} failed slaves")
    threads = _threads(text)
    found = [
        _measured(
            heading[1] if heading else "",
            name,
            total,
            threads.get(name),
            failed is None,
            tuple(notes),
        )
        for name, total in _totals(text)
    ]
    return ToolReport("DFS-Perf", tuple(found))


def _totals(text: str) -> Iterator[tuple[str, float]]:
    """Yields (name of a statistic, total over all slaves) for each statistic of the table. Raises
    ValueError if the table does not have one total for each statistic.
    """
    lines = text.partition(STATISTICS)[2].strip("\n").splitlines()
    names = lines[0].split("\t")[1:] if lines else []
    row = next((line for line in lines if line.startswith("Total\t")), "")
    totals = row.split("\t")[1:]
    with in_line(line_at(text, text.find(row)), f"Total, then {', '.join(names)}"):
        if len(names) != len(totals):
            raise ValueError(f"{len(names)} statistics have {len(totals)} totals")
        numbers = [number(total, name) for name, total in zip(names, totals, strict=True)]
    yield from zip(names, numbers, strict=True)


def _threads(text: str) -> dict[str, int]:
    """Returns the number of threads on all slaves together, by the name of the statistic."""
    found: dict[str, int] = {}
    for name, values in THREADS.findall(text):
        found[name] = found.get(name, 0) + values.count("[")
    return found


def _measured(
    task: str, name: str, total: float, threads: int | None, complete: bool, notes: tuple[str, ...]
) -> ToolMeasurement:
    if name.endswith(THROUGHPUT):
        operation = "read" if "Read" in name else "write"
        rate, throughput = None, total * MEBI
    elif name.endswith(RATE):
        operation, rate, throughput = "metadata", total, None
    else:
        raise ValueError(f"statistic {name[:40]!r} has no known unit")
    part = f"{task}, {name.partition('(')[0]}"
    return ToolMeasurement(
        part, operation, rate, throughput, clients=threads, complete=complete, notes=notes
    )


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction: a total that is not the sum over the slaves, or a rate of a slave
    that is not the sum over its threads."""
    first = line_at(text, text.find(STATISTICS)) + 1
    lines = text.partition(STATISTICS)[2].splitlines()[1:]
    names = lines[0].split("\t")[1:] if lines else []
    columns: dict[str, list[Printed]] = {name: [] for name in names}
    threads = {(one[1], one[2]): _rates(one[3], one[2]) for one in BY_SLAVE.finditer(text)}
    for place, line in enumerate(lines[1:], start=first + 1):
        slave, *figures = line.split("\t")
        if line.startswith("*") or len(figures) != len(names):
            break
        for name, figure in zip(names, figures, strict=True):
            stated = printed(name, figure)
            parts = columns[name] if slave == TOTAL else threads.get((slave, name), [])
            if parts:
                how = "the sum over " + ("the slaves" if slave == TOTAL else "its threads")
                for wrong in comparing.unequal(stated, comparing.total(parts), how):
                    yield f"line {place}: {slave}, {wrong}"
            columns[name].append(stated)


def _rates(text: str, name: str) -> list[Printed]:
    return [printed(name, one) for one in re.findall(r"\[ ?([\d.eE+-]+) ?\]", text)]


READER = ResultReader(TITLE, recognises, read, contradictions)
