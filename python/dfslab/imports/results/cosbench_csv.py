"""Reads the CSV file that COSBench writes for a workload. The file has one row for each operation
of a stage.

Response times are in milliseconds, throughput is in operations per second, and bandwidth is in
bytes per second. The throughput excludes failed operations. A success ratio below 100 % makes the
result incomplete.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from dfslab.imports.redundant import comparing
from dfslab.imports.tool_report import ResultReader, ToolMeasurement, ToolReport, in_line, number

TITLE = "COSBench: its CSV of a workload"
MARK = re.compile(rb"^Stage,Op-Name,Op-Type,[^\n]*\bThroughput,Bandwidth\b")
OPERATIONS = {
    "read": "read",
    "write": "write",
    "prepare": "write",
    "filewrite": "write",
    "mfilewrite": "write",
    "delete": "delete",
    "cleanup": "delete",
    "dispose": "rmdir",
    "init": "mkdir",
    "list": "list",
}
TIMES = {"mean": "Avg-ResTime", "p90": "90%-ResTime", "p99": "99%-ResTime"}
MILLISECOND_S = 1e-3
UNKNOWN = ("", "N/A", "n/a")
# The columns of the quantiles of the response time, in ascending order.
QUANTILES = tuple(f"{share}%-ResTime" for share in (60, 80, 90, 95, 99, 100))
# The columns whose figures are compared with each other.
FIGURES = frozenset(
    (*QUANTILES, "Avg-ResTime", "Avg-ProcTime", "Op-Count", "Byte-Count", "Throughput", "Bandwidth")
)
EXPECTED = "the columns of COSBench's header, with numbers from 0 on"


def recognises(head: bytes) -> bool:
    """Returns whether the first line of a file has COSBench's columns."""
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with one measurement for each row that has a rate. Raises ValueError if a
    number is malformed."""
    counts: dict[str, int] = {}
    found = []
    table = csv.DictReader(text.splitlines())
    version = ""
    for row in table:
        with in_line(table.line_num, EXPECTED):
            if one := _measured(row, counts):
                found.append(one)
        version = version or row.get("Version Info") or ""
    return ToolReport("COSBench", tuple(found), version)


def _measured(row: dict[str, str], counts: dict[str, int]) -> ToolMeasurement | None:
    """Returns the measurement in a row; None if the row has no rate. `counts` has the number of
    earlier rows of each part, minus one."""
    rate = _number(row, "Throughput")
    if rate is None:
        return None
    stage, name = row.get("Stage") or "", row.get("Op-Name") or ""
    kind = row.get("Op-Type") or name
    part = f"{stage}, {name}" if kind == name else f"{stage}, {name} {kind}"
    counts[part] = counts.get(part, -1) + 1
    ratio = _number(row, "Succ-Ratio")
    times = {key: _number(row, column) for key, column in TIMES.items()}
    whole = ratio is None or ratio >= 100
    return ToolMeasurement(
        part,
        OPERATIONS.get(kind.lower(), OPERATIONS.get(name.lower(), "mixed")),
        rate,
        _number(row, "Bandwidth"),
        {key: ms * MILLISECOND_S for key, ms in times.items() if ms is not None},
        repetition=counts[part],
        complete=whole,
        notes=() if whole else (f"{ratio:g} % of the operations succeeded",),
    )


def _number(row: dict[str, str], key: str) -> float | None:
    text = (row.get(key) or "").strip()
    return None if text in UNKNOWN else number(text.rstrip("%"), key)


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction within a row: quantiles that do not ascend, a mean above the
    longest response time, processing that takes longer than the response, and a bandwidth that is
    not (throughput) x (bytes of an operation)."""
    table = csv.DictReader(text.splitlines())
    for row in table:
        for wrong in _of_row(row):
            yield f"line {table.line_num}: {wrong}"


def _of_row(row: dict[str, str]) -> Iterator[str]:
    known = {
        key: comparing.printed(key, text.strip().rstrip("%"))
        for key, text in row.items()
        if key in FIGURES and text is not None and text.strip() not in UNKNOWN
    }
    longest = known.get(QUANTILES[-1])
    yield from comparing.falling([known.get(key) for key in QUANTILES])
    yield from comparing.falling([known.get("Avg-ResTime"), longest])
    yield from comparing.falling([known.get("Avg-ProcTime"), known.get("Avg-ResTime")])
    # COSBench counts failed operations in some of its figures only.
    count, moved = known.get("Op-Count"), known.get("Byte-Count")
    rate, bandwidth = known.get("Throughput"), known.get("Bandwidth")
    succeeded = (row.get("Succ-Ratio") or "").startswith("100")
    if succeeded and count and moved and rate and bandwidth and count.value and moved.value:
        how = "Throughput x Byte-Count / Op-Count"
        yield from comparing.unequal(bandwidth, rate * (moved / count), how, comparing.APART)


READER = ResultReader(TITLE, recognises, read, contradictions)
