"""Reads the text that IOR 2 to 4 print. An IOR run repeats its accesses (reads or writes). The
report has one measurement for each access and repetition. Columns are found by the names in the
header of the table.
"""

from __future__ import annotations

import re

from dfslab.imports.fio_evidence import size_bytes
from dfslab.imports.mpi_evidence import IorTest, of_ior
from dfslab.imports.tool_report import (
    KIBI,
    MEBI,
    ResultReader,
    ToolMeasurement,
    ToolReport,
    in_line,
    number,
)

TITLE = "IOR: its text"
MARK = re.compile(rb"^IOR-(\d\S*): MPI Coordinated Test of Parallel I/O", re.M)
VERSION = re.compile(r"^IOR-(\S+): MPI Coordinated", re.M)
FACT = re.compile(r"^\s*(Began|Run began|Command line(?: used)?|Machine)\s*:\s*(.+?)\s*$", re.M)
TASKS = re.compile(r"^\s*(?:tasks|clients)\s*[:=]\s*(\d+)(?:\s*\((\d+) per node\))?", re.M)
NODES = re.compile(r"^\s*nodes\s*[:=]\s*(\d+)", re.M)
AGGREGATE = re.compile(r"^\s*aggregate filesize\s*[:=]\s*([\d.]+ \w+)", re.M)
TOTAL = "total(s)"
RATE, TRANSFER = "bw(MiB/s)", "xfer(KiB)"
ACCESSES = ("write", "read")


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file has IOR's heading."""
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with the measurements in a text. Their `rate_per_s` counts transfers. Raises
    ValueError if the text is malformed."""
    facts = {key.removesuffix(" used"): value for key, value in FACT.findall(text)}
    test = _test(text, facts.get("Command line", ""))
    head: list[str] = []
    found: list[ToolMeasurement] = []
    counts: dict[str, int] = {}
    for place, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if RATE in words:
            head = words
        elif head and words and words[0] in ACCESSES and len(words) == len(head):
            row = dict(zip(head, words, strict=True))
            if row[RATE] == "-":
                continue
            repetition = counts[words[0]] = counts.get(words[0], -1) + 1
            with in_line(place, " ".join(head)):
                found.append(_measured(row, repetition, test))
    version = VERSION.search(text)
    started = facts.get("Began") or facts.get("Run began", "")
    return ToolReport(
        "IOR",
        tuple(found),
        version[1] if version else "",
        _host(facts.get("Machine", "")),
        started,
        facts.get("Command line", ""),
    )


def _host(machine: str) -> str:
    """Returns the host name from a text such as "Linux node1". A text of another form is returned
    unchanged."""
    return machine.partition(" ")[2] or machine


def _test(text: str, command: str) -> IorTest:
    """Returns the description of the test at the beginning of IOR's text."""
    counted = TASKS.findall(text)
    tasks, per_node = (int(counted[-1][0]), int(counted[-1][1] or 0)) if counted else (None, 0)
    named, size = NODES.search(text), AGGREGATE.search(text)
    nodes = int(named[1]) if named else None
    if nodes is None and tasks and per_node:
        nodes = -(-tasks // per_node)
    return IorTest(command, tasks, nodes, size_bytes(size[1]) if size else None)


def _measured(row: dict[str, str], repetition: int, test: IorTest) -> ToolMeasurement:
    access = next(iter(row.values()))
    bytes_per_s = number(row[RATE], RATE) * MEBI
    # IOR before 3.3 prints no IOPS, so the rate is computed from the bandwidth.
    transfer = number(row[TRANSFER], TRANSFER) * KIBI if TRANSFER in row else 0.0
    rate = number(row["IOPS"], "IOPS") if "IOPS" in row else None
    if rate is None and transfer:
        rate = bytes_per_s / transfer
    took_s = number(row[TOTAL], TOTAL) if TOTAL in row else None
    return ToolMeasurement(
        access,
        access,
        rate,
        bytes_per_s,
        clients=test.tasks,
        repetition=repetition,
        counts_transfers=True,
        evidence=of_ior(access, test, took_s),
    )


READER = ResultReader(TITLE, recognises, read)
