"""Reads the log of Hadoop's TestDFSIO. Other lines of a job's output may surround the log.

Pitfalls:
- "Throughput" is not the rate of the cluster. "Throughput" is the mean rate of one task: the bytes
  of all tasks divided by the sum of the tasks' times.
- "MB" is 2^20 bytes.
- "Average IO rate" is a mean of ratios and is not used.
- The time of the job includes the start of its tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfslab.imports.redundant import comparing
from dfslab.imports.redundant.comparing import printed
from dfslab.imports.tool_report import (
    MEBI,
    ResultReader,
    ToolMeasurement,
    ToolReport,
    in_line,
    number,
)

TITLE = "TestDFSIO: its log"
# A logger may write the date, level and class before each line, so the patterns match anywhere in a
# line.
HEADING = re.compile(r"-----\s*TestDFSIO\s*-----\s*:\s*([\w ]+?)\s*$")
MARK = re.compile(rb"-----\s*TestDFSIO\s*-----\s*:")
FACT = re.compile(
    r"\b(Date & time|Number of files|Total MBytes processed|Throughput mb/sec"
    r"|Average IO rate mb/sec|Test exec time sec)\s*:\s*(.+?)\s*$",
    re.IGNORECASE,
)

# The keys of the values, in lower case.
TOTAL, FILES = "total mbytes processed", "number of files"
THROUGHPUT, AVERAGE = "throughput mb/sec", "average io rate mb/sec"
TIME = "test exec time sec"
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file has the heading of a TestDFSIO test."""
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with one measurement for every test in a log. Raises ValueError if a test
    has no throughput."""
    tests = list(_tests(text))
    counts: dict[str, int] = {}
    found = []
    for begin, name, facts in tests:
        counts[name] = counts.get(name, -1) + 1
        with in_line(begin, "a test with the values that TestDFSIO prints, numbers from 0 on"):
            found.append(_measured(name, facts, counts[name]))
    started = tests[0][2].get("date & time", "") if tests else ""
    return ToolReport("TestDFSIO", tuple(found), started=started)


def _tests(text: str) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Yields (line of the heading, name, values) for each test in a log. `values` is a dictionary
    of the values that the test reported, with keys in lower case.
    """
    begin, name, facts = 0, "", dict[str, str]()
    for place, line in enumerate(text.splitlines(), start=1):
        if heading := HEADING.search(line):
            if name:
                yield begin, name, facts
            begin, name, facts = place, heading[1], {}
        elif fact := FACT.search(line):
            facts.setdefault(fact[1].lower(), fact[2])
    if name:
        yield begin, name, facts


def _measured(name: str, facts: dict[str, str], repetition: int) -> ToolMeasurement:
    of_a_task = number(facts.get("throughput mb/sec"), "Throughput mb/sec") * MEBI
    notes = ["the throughput is the mean of one task while it ran, not the sum of all tasks"]
    files = facts.get("number of files", "")
    total, took = facts.get("total mbytes processed"), facts.get("test exec time sec")
    if total and took and (took_s := number(took, "Test exec time sec")):
        per_s = number(total.replace(",", ""), "Total MBytes processed") / took_s
        notes.append(f"all bytes in the time of the whole job: {per_s:.6g} MiB/s")
    return ToolMeasurement(
        name,
        "write" if name in ("write", "append") else "read",
        throughput_bytes_per_s=of_a_task,
        clients=int(files) if files.isdigit() else None,
        repetition=repetition,
        notes=tuple(notes),
    )


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction within a test. The throughput is a harmonic mean over tasks of
    equal sizes, so it is at most the average rate of the tasks. The throughput is at least the rate
    of a task that takes as long as the whole job, because no task takes longer."""
    for begin, name, facts in _tests(text):
        known = {
            key: printed(key, facts[key].replace(",", ""))
            for key in (TOTAL, FILES, THROUGHPUT, AVERAGE, TIME)
            if NUMBER.fullmatch(facts.get(key, "").replace(",", ""))
        }
        throughput, average = known.get(THROUGHPUT), known.get(AVERAGE)
        if throughput is None:
            continue
        wrongs = [*comparing.falling([throughput, average])]
        total, files, took = known.get(TOTAL), known.get(FILES), known.get(TIME)
        if total and files and took and files.value and took.value:
            least = (total / took).scaled(1 / files.value)
            wrongs += comparing.below(throughput, least, f"{TOTAL} / ({FILES} x {TIME})")
        for wrong in wrongs:
            yield f"line {begin}: {name}: {wrong}"


READER = ResultReader(TITLE, recognises, read, contradictions)
