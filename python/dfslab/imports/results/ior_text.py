"""Reads the text that IOR 2 to 4 print. An IOR run repeats its accesses (reads or writes). The
report has one measurement for each access and repetition. Columns are found by the names in the
header of the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfslab.imports.fio_evidence import size_bytes
from dfslab.imports.job_settings import JobSettings
from dfslab.imports.mpi_evidence import IOR_VALUES, IorTest, of_ior, options
from dfslab.imports.redundant import comparing, ior_repetitions
from dfslab.imports.redundant.comparing import Printed, printed
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
RATE, TRANSFER, BLOCK = "bw(MiB/s)", "xfer(KiB)", "block(KiB)"
LARGEST = re.compile(r"^Max (Write|Read):\s+([\d.]+) MiB/sec \(([\d.]+) MB/sec\)")
# The columns of the largest, smallest and mean bandwidth in the summary of all tests.
MOST = "Max(MiB)"
SUMMARY_KEYS = (MOST, "Min(MiB)", "Mean(MiB)")
MEGA = 1e6
# The last digit of a size that IOR prints with two digits after the point.
DIGIT = 0.01
ACCESSES = ("write", "read")


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file has IOR's heading."""
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with the measurements in a text. The `rate_per_s` of a measurement counts
    transfers. Raises ValueError if the text is malformed."""
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
    block = number(row[BLOCK], BLOCK) * KIBI if BLOCK in row else 0.0
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
        settings=JobSettings(transfer_bytes=transfer or None, file_bytes=block or None),
        evidence=of_ior(access, test, took_s),
    )


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction:
    - phases of an access that take longer than the whole access;
    - a bandwidth above IOPS x transfer;
    - a bandwidth that is not bytes / time;
    - a largest, smallest or mean bandwidth that is not that of the repetitions."""
    head: list[str] = []
    # The bandwidths of the accesses since the last summary of a test.
    rates: dict[str, list[Printed]] = {access: [] for access in ACCESSES}
    size = _moved(text)
    for place, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        wrongs: list[str] = []
        if RATE in words or MOST in words:
            head = words
        elif head and words and words[0] in ACCESSES and len(words) == len(head):
            row = {key: one for key, one in zip(head, words, strict=True) if one != "-"}
            if RATE in row:
                rates[words[0]].append(printed(RATE, row[RATE]))
                wrongs += _of_row(row, size)
        elif largest := LARGEST.match(line):
            wrongs += _of_largest(largest, rates[largest[1].lower()])
        for wrong in wrongs:
            yield f"line {place}: {wrong}"
    yield from _of_summary(text, rates)


def _of_row(row: dict[str, str], size: Printed | None) -> Iterator[str]:
    whole, bandwidth = comparing.optional(row, TOTAL), printed(RATE, row[RATE])
    for key in ("open(s)", "wr/rd(s)", "close(s)"):
        yield from comparing.falling([comparing.optional(row, key), whole])
    rate, transfer = comparing.optional(row, "IOPS"), comparing.optional(row, TRANSFER)
    if rate and transfer:
        most = rate * transfer.scaled(KIBI / MEBI)
        yield from comparing.above(bandwidth, most, f"IOPS x {TRANSFER}")
    if whole and whole.value and size:
        yield from comparing.unequal(bandwidth, size / whole, f"aggregate filesize / {TOTAL}")


def _moved(text: str) -> Printed | None:
    """Returns the MiB that each access moves. Returns None if the text does not state this size for
    exactly one test, or if an access ends after a given time (option -D)."""
    sizes = AGGREGATE.findall(text)
    command = next((value for key, value in FACT.findall(text) if key.startswith("Comm")), "")
    if len(sizes) != 1 or not command or "D" in options(command, IOR_VALUES):
        return None
    size = size_bytes(sizes[0])
    # IOR prints whole numbers exactly, and other numbers with two digits.
    digit = size_bytes(re.sub(r"[\d.]+", "1", sizes[0])) or 0.0
    rounding = DIGIT * digit if "." in sizes[0] else 0.0
    return None if size is None else Printed("", size / MEBI, rounding / MEBI)


def _of_largest(found: re.Match[str], rates: list[Printed]) -> Iterator[str]:
    stated = printed(f"Max {found[1]}", found[2])
    if rates:
        most = max(rates, key=lambda one: one.value)
        how = f"the largest bandwidth of {len(rates)} repetitions"
        yield from comparing.unequal(stated, most, how)
    decimal = printed(f"Max {found[1]} (MB/sec)", found[3])
    yield from comparing.unequal(decimal, stated.scaled(MEBI / MEGA), f"{stated.key} (MiB/sec)")


def _of_summary(text: str, rates: dict[str, list[Printed]]) -> Iterator[str]:
    """Yields the contradictions in the summary of all tests, if the text has one test only."""
    head: list[str] = []
    found: dict[str, list[tuple[int, dict[str, str]]]] = {access: [] for access in ACCESSES}
    for place, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if MOST in words:
            head = words
        elif head and words and words[0] in ACCESSES:
            found[words[0]].append((place, dict(zip(head[:4], words[:4], strict=False))))
    for access, rows in found.items():
        if len(rows) == 1 and rates[access]:
            place, row = rows[0]
            for wrong in ior_repetitions.contradictions(row, SUMMARY_KEYS, rates[access]):
                yield f"line {place}: {access}: {wrong}"


READER = ResultReader(TITLE, recognises, read, contradictions)
