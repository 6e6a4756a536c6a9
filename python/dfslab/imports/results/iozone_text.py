"""Reads the text that iozone 3 prints. The text is a table with one row for each file size and
record size, or in throughput mode (-t) a summary.

Pitfalls: iozone's kByte has 1024 bytes. The columns of tests that did not run are blank. The
numbers of a row are therefore assigned, in their order, to the tests that the command line requests
(-i).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfslab.imports.job_settings import JobSettings
from dfslab.imports.redundant import comparing
from dfslab.imports.redundant.comparing import printed
from dfslab.imports.tool_report import (
    KIBI,
    ResultReader,
    ToolMeasurement,
    ToolReport,
    in_line,
    line_at,
    number,
)

TITLE = "iozone: its text"
MARK = re.compile(rb"^\s*Iozone: Performance Test of File I/O", re.M)
VERSION = re.compile(r"Version \$Revision:\s*(\S+)")
COMMAND = re.compile(r"^\s*Command line used:\s*(.+?)\s*$", re.M)
UNIT = re.compile(r"^\s*Output is in ([kK])?[Bb]ytes/sec\s*$", re.M)
OTHER_UNIT = re.compile(r"^\s*Output is in (.+?)\s*$", re.M)
ROW = re.compile(r"^[ \t]+(\d+)[ \t]+(\d+)((?:[ \t]+\d+)+)[ \t]*$", re.M)
CHILDREN = re.compile(
    r"^\s*Children see throughput for\s+(\d+) ([a-z -]+?)\s*=\s*([\d.]+) ([kK]?)(?:[Bb]ytes|B)/sec",
    re.M,
)
OF_PROCESS = re.compile(r"^\s*(Min|Max|Avg) throughput per \w+\s*=\s*([\d.]+)", re.M)
# The columns of the table that each test fills, in the order of the table. The keys are the numbers
# that select the tests in iozone's option -i.
TESTS: dict[int, tuple[str, ...]] = {
    0: ("write", "rewrite"),
    1: ("read", "reread"),
    2: ("random read", "random write"),
    3: ("backward read",),
    4: ("record rewrite",),
    5: ("stride read",),
    6: ("fwrite", "frewrite"),
    7: ("fread", "freread"),
}


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file has iozone's heading."""
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with the rate of every test. Raises ValueError if the unit is not bytes per
    time. Also raises ValueError if a row does not have exactly one number for each column of the
    requested tests.
    """
    version, command = VERSION.search(text), COMMAND.search(text)
    line = command[1] if command else ""
    found = tuple(_throughput(text)) or tuple(_table(text, line))
    return ToolReport("iozone", found, version[1] if version else "", command=line)


def _throughput(text: str) -> Iterator[ToolMeasurement]:
    for row in CHILDREN.finditer(text):
        bytes_per_s = number(row[3], row[2]) * (KIBI if row[4] else 1)
        yield ToolMeasurement(
            row[2], _operation(row[2]), throughput_bytes_per_s=bytes_per_s, clients=int(row[1])
        )


def _table(text: str, command: str) -> Iterator[ToolMeasurement]:
    unit, other = UNIT.search(text), OTHER_UNIT.search(text)
    if unit is None:
        raise ValueError(f"its unit is {other[1] if other else 'missing'!r}, must be kBytes/sec")
    scale = KIBI if unit[1] else 1.0
    requested = sorted({int(one) for one in re.findall(r"-i\s*(\d+)", command)} & set(TESTS))
    names = [name for test in requested or TESTS for name in TESTS[test]]
    for row in ROW.finditer(text):
        with in_line(line_at(text, row.start(1)), f"kB, reclen, {', '.join(names)}"):
            figures = [number(one, "a figure") for one in row[3].split()]
            if len(figures) != len(names):
                tests = f"the command line requests {len(names)} tests"
                raise ValueError(f"a row has {len(figures)} figures, {tests}")
        for name, figure in zip(names, figures, strict=True):
            part = f"{name}, {row[1]} KiB by {row[2]} KiB"
            rate = figure * scale / (int(row[2]) * KIBI) if int(row[2]) else None
            yield ToolMeasurement(
                part,
                _operation(name),
                rate,
                figure * scale,
                clients=1,
                counts_transfers=True,
                is_random="random" in name,
                settings=JobSettings(int(row[2]) * KIBI or None, int(row[1]) * KIBI or None),
            )


def _operation(name: str) -> str:
    """Returns the type of operation of a test: "read", "write" or "mixed". `name`: iozone's name of
    the test."""
    if "mixed" in name:
        return "mixed"
    return "write" if "writ" in name else "read"


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction in a summary of the throughput mode: the smallest, mean and largest
    throughput of a process do not ascend, or the sum over the processes is not (number of
    processes) x mean."""
    headings = list(CHILDREN.finditer(text))
    ends = [*(one.start() for one in headings[1:]), len(text)]
    for heading, end in zip(headings, ends, strict=False):
        stated = printed(f"Children see throughput for {heading[1]} {heading[2]}", heading[3])
        of_one = {
            one[1]: printed(f"{one[1]} throughput per process", one[2])
            for one in OF_PROCESS.finditer(text, heading.end(), end)
        }
        wrongs = [*comparing.falling([of_one.get(key) for key in ("Min", "Avg", "Max")])]
        if mean := of_one.get("Avg"):
            how = f"{heading[1]} x {mean.key}"
            wrongs += comparing.unequal(stated, mean.scaled(int(heading[1])), how)
        for wrong in wrongs:
            yield f"line {line_at(text, heading.start(1))}: {wrong}"


READER = ResultReader(TITLE, recognises, read, contradictions)
