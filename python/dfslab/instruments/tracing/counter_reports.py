"""Converts counters of servers and clients to reports of mean times, which can be imported as
results.

A report contains no rates, because counters record neither the number of clients nor the duration
in which the calls were made. Calls that are counted without times are left out of the reports;
`dfslab trace report` shows their numbers.
"""

from __future__ import annotations

import re
from pathlib import Path

from dfslab.imports.tool_report import ToolMeasurement, ToolReport
from dfslab.instruments.tracing import counter_profiles
from dfslab.instruments.tracing.callprofile import CallTreeRow
from dfslab.spec.input_error import InputError

KEY = "FILE"
NS_S = 1e-9
NO_TIMES = "holds counts without times and without a period: `dfslab trace report` shows them"


def report(path: Path) -> ToolReport | None:
    """Returns the mean time of every call that the counters in a file have timed. Returns None if
    the file has no counters of a known format. Raises InputError if the file is malformed or has no
    times.
    """
    system = counter_profiles.recognise(path)
    if not system:
        return None
    found = [
        _measured(f"{file.service} {file.instance}".strip(), row)
        for _, file in counter_profiles.read(path)
        for row in file.nodes
        if row.above < 0 and row.timed and row.count
    ]
    if not found:
        raise InputError(KEY, str(path), NO_TIMES)
    return ToolReport(f"{system} counters", tuple(_numbered(found)))


def _measured(process: str, row: CallTreeRow) -> ToolMeasurement:
    operation = re.sub(r"[^a-z]+", "_", row.step.lower()).strip("_") or "call"
    notes = [f"{row.count} calls", *([f"{row.errors} failed"] if row.errors else [])]
    return ToolMeasurement(
        f"{process}, {row.step}",
        operation,
        latency_s={"mean": row.total_ns / row.count * NS_S},
        notes=tuple(notes),
    )


def _numbered(found: list[ToolMeasurement]) -> list[ToolMeasurement]:
    """Returns the measurements with unique names. Several processes may have the same name, so a
    number is appended to repeated names."""
    names: dict[str, int] = {}
    numbered = []
    for one in found:
        names[one.part] = place = names.get(one.part, 0) + 1
        numbered.append(one if place == 1 else _named(one, f"{one.part} ({place})"))
    return numbered


def _named(one: ToolMeasurement, part: str) -> ToolMeasurement:
    return ToolMeasurement(part, one.operation, latency_s=one.latency_s, notes=one.notes)
