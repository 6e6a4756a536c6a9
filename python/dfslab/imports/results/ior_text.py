"""Reads the text of IOR 2 to 4: every repetition of every access, by the table's own header."""

from __future__ import annotations

import re

from dfslab.imports.tool_report import KIBI, MEBI, ResultReader, ToolMeasurement, ToolReport, number

TITLE = "IOR: its text"
MARK = re.compile(rb"^IOR-(\d\S*): MPI Coordinated Test of Parallel I/O", re.M)
VERSION = re.compile(r"^IOR-(\S+): MPI Coordinated", re.M)
FACT = re.compile(r"^\s*(Began|Run began|Command line(?: used)?|Machine)\s*:\s*(.+?)\s*$", re.M)
TASKS = re.compile(r"^\s*(?:tasks|clients)\s*[:=]\s*(\d+)", re.M)
RATE, TRANSFER, ITERATION = "bw(MiB/s)", "xfer(KiB)", "iter"
ACCESSES = ("write", "read")


def recognises(head: bytes) -> bool:
    """Whether the beginning of a file has IOR's heading."""
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """The measurements of a text; `rate_per_s` counts transfers. ValueError if it is malformed."""
    facts = {key.removesuffix(" used"): value for key, value in FACT.findall(text)}
    tasks = [int(count) for count in TASKS.findall(text)]
    head: list[str] = []
    found: list[ToolMeasurement] = []
    counts: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if RATE in words:
            head = words
        elif head and words and words[0] in ACCESSES and len(words) == len(head):
            row = dict(zip(head, words, strict=True))
            if row[RATE] == "-":
                continue
            repetition = counts[words[0]] = counts.get(words[0], -1) + 1
            found.append(_measured(row, repetition, tasks[-1] if tasks else None))
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
    """The host in "Linux node1"; a machine of another form stays as it is."""
    return machine.partition(" ")[2] or machine


def _measured(row: dict[str, str], repetition: int, tasks: int | None) -> ToolMeasurement:
    access = next(iter(row.values()))
    bytes_per_s = number(row[RATE], RATE) * MEBI
    # Releases before 3.3 print no IOPS.
    transfer = number(row[TRANSFER], TRANSFER) * KIBI if TRANSFER in row else 0.0
    rate = number(row["IOPS"], "IOPS") if "IOPS" in row else None
    if rate is None and transfer:
        rate = bytes_per_s / transfer
    return ToolMeasurement(access, access, rate, bytes_per_s, clients=tasks, repetition=repetition)


READER = ResultReader(TITLE, recognises, read)
