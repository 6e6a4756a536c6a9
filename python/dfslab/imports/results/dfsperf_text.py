"""Reads the total report of DFS-Perf (`report-TASK`). The report has the rate of each statistic,
summed over all threads.

Pitfalls: DFS-Perf's MB is 2^20 bytes. The rate of a thread is taken over the run time of this
thread, and a total is the sum of these rates. A thread that ends early therefore counts as if it
had continued.
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

TITLE = "DFS-Perf: its total report"
HEADING = re.compile(r"^(\w+) Test - ID : (\d+)\s*$", re.M)
MARK = re.compile(rb"^\w+ Test - ID : \d+\s*\n(?:Finished Successfully|Failed: )", re.M)
FAILED = re.compile(r"^Failed: (\d+) slaves failed", re.M)
STATISTICS = "********** Statistics **********"
THREADS = re.compile(r"^\S+'s (.+?) for each threads:\s*\n\s*(\[.*\])\s*$", re.M)
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


READER = ResultReader(TITLE, recognises, read)
