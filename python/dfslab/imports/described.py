"""Converts a report of another tool to results for a scenario, so that models can be fitted to the
results.

The scenario describes the deployment and the file system that the tool measured. Each measurement
in the report gets one of two workloads:
- Reads and writes become the workload `transfers`. One transfer is one operation.
- Creating, deleting, renaming and looking up files become the workload `metadata`.

Other measurements are left out; `left_out` names each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dfslab.imports import as_results
from dfslab.imports.tool_report import ToolMeasurement, ToolReport
from dfslab.method import MEASURE
from dfslab.result import Result, Step
from dfslab.spec import units
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario

# The keys are names of operations in reports of tools. The values are pairs: the operation of the
# workload `transfers`, and the name of the step whose time is measured.
TRANSFERS = {"read": ("pread", "read"), "write": ("pwrite", "write")}
METADATA = frozenset(("create", "stat", "list", "open", "rename", "delete"))
# Metadata operations that consist of one system call. Their reported time is therefore the time of
# one step. Creating a file takes several calls, of which tools report only the total time.
ONE_CALL = frozenset(("stat", "list", "rename", "delete"))
MOST_TRANSFER_BYTES = 1 << 30
CLOSED = "mean time of an operation: clients / rate, because the tool reported no latency"
ORDER = "the order of offsets is not known: sequential is written"

# Options of fio that force each write to disk: with a call after the write, or with a flag of the
# opened file (then the value is that of `workload.sync_io`).
EACH_WRITE = frozenset(("fsync=1", "fdatasync=1"))
SYNC_OPTIONS = {"sync=1": "all", "sync=sync": "all", "sync=dsync": "data"}
FILE_SIZE = "the size of the files is not known: that of one transfer is written"


@dataclass(frozen=True)
class DescribedReport:
    """The results of a report on a described system. `left_out` has one line of text for each
    measurement that is not among the results, with the reason."""

    scenario: Scenario
    results: list[Result]
    left_out: list[str]


def described(
    report: ToolReport, path: Path, on: Scenario, findings: Sequence[str] = ()
) -> DescribedReport:
    """Returns results for those measurements that a workload of dfslab can describe, in the order
    of the report. A part of the report is a job, a test or a phase. If two parts have the same
    configuration, only the first part becomes results.

    `on`: scenario with the deployment and the file system; its workload is not used. Raises
    InputError if no measurement can be described.
    """
    base = _base(as_results.scenario_of(report, path), on)
    found: list[Result] = []
    left_out: list[str] = []
    parts: dict[str, str] = {}
    repetitions = Counter[str]()
    for one, plain in zip(
        report.measurements, as_results.results(report, path, findings), strict=True
    ):
        labels = _labels(one)
        if isinstance(labels, str):
            left_out.append(f"{_named(one)}: left out: {labels}")
            continue
        point = Point(scenario=base.with_values(labels), labels=labels)
        if parts.setdefault(point.id, one.part) != one.part:
            same = f"it has the same configuration as {parts[point.id]}"
            left_out.append(f"{_named(one)}: left out: {same}")
            continue
        found.append(_result(one, plain, point, repetitions[point.id]))
        repetitions[point.id] += 1
    if not found:
        allowed = f"no measurement can be described: {left_out[0]}"
        raise InputError("FILE", str(path), allowed)
    return DescribedReport(_scenario(base, found), found, left_out)


def _scenario(base: Scenario, found: Sequence[Result]) -> Scenario:
    """Returns a scenario whose configurations are those of the results. If all results have the
    same workload, the scenario's values outside the sweep are those of the first configuration,
    for the keys that every configuration has.
    `whatif` and the sliders start from these values."""
    rows = as_results.unique_rows(dict(one.labels) for one in found)
    names = {row.get("workload.name") for row in rows}
    # A key that only some rows have stays at its default in the other rows.
    shared = {key: value for key, value in rows[0].items() if all(key in row for row in rows)}
    start = base.with_values(shared) if len(names) == 1 else base
    repetitions = 1 + max(one.repetition for one in found)
    return start.with_overrides({"run.repetitions": repetitions}).with_rows(rows)


def _named(one: ToolMeasurement) -> str:
    is_named = one.part.endswith(one.operation)
    return one.part if is_named else f"{one.part}, {one.operation}"


def _base(imported: Scenario, on: Scenario) -> Scenario:
    """Returns the scenario of the results: name and title of the imported file, deployment and file
    system of the scenario `on`."""
    document = on.model_dump(mode="json")
    return build(
        Scenario,
        {
            "name": imported.name,
            "title": imported.title,
            "deployment": document["deployment"],
            "file_system": document["file_system"],
            "workload": {"name": "transfers"},
            "run": {"methods": [MEASURE], "repetitions": 1},
        },
    )


def _labels(one: ToolMeasurement) -> dict[str, LevelValue] | str:
    """Returns the parameters of the scenario that describe the measurement `one`, with keys such as
    "workload.clients". If no workload describes the measurement, returns the reason as text.

    Each outstanding operation of the tool becomes one client. The clients share the tool's bytes.
    """
    if not one.clients:
        return "the tool reported no number of clients"
    if not one.rate_per_s:
        return "the tool reported no rate of operations"
    in_flight = one.clients * _depth(one)
    labels: dict[str, LevelValue] = {"workload.clients": in_flight}
    if one.operation in METADATA:
        return {"workload.name": "metadata", "workload.operation": one.operation, **labels}
    if one.operation not in TRANSFERS:
        return f"no workload describes the operation {one.operation!r}"
    size_bytes = round((one.throughput_bytes_per_s or 0.0) / one.rate_per_s)
    if not 1 <= size_bytes <= MOST_TRANSFER_BYTES:
        return "the size of a transfer is not known or above 1 GiB"
    mode = f"rand{one.operation}" if _is_random(one) else one.operation
    file_bytes = max(size_bytes, int((one.evidence.work.data_size or 0) // in_flight))
    return {
        "workload.mode": mode,
        "workload.transfer_size": units.exact(size_bytes, "B"),
        "workload.file_size": units.exact(file_bytes, "B"),
        **_access(one),
        **labels,
    }


def _access(one: ToolMeasurement) -> dict[str, LevelValue]:
    """Returns the keys of the workload for the page cache and for forcing data to disk. A key is
    left out if the tool reported nothing that differs from the key's default."""
    work = one.evidence.work
    found: dict[str, LevelValue] = {} if work.cache is None else {"workload.cache": work.cache}
    if not work.forced or one.operation != "write":
        return found
    options = one.settings.options.split()
    opened = next((SYNC_OPTIONS[text] for text in options if text in SYNC_OPTIONS), "")
    if opened:
        return {**found, "workload.sync_io": opened}
    is_each = any(text in EACH_WRITE for text in options)
    return {**found, "workload.fsync": "write" if is_each else True}


def _is_random(one: ToolMeasurement) -> bool:
    """Returns whether a measurement has random offsets. If the tool did not report this fact, the
    name of the part decides."""
    return "rand" in one.part.lower() if one.is_random is None else one.is_random


def _depth(one: ToolMeasurement) -> int:
    """Returns the number of outstanding operations of each process of the tool; 1 if it is
    unknown."""
    return max(1, one.evidence.work.queue_depth or 1)


def _result(one: ToolMeasurement, plain: Result, point: Point, repetition: int) -> Result:
    """Returns the imported result `plain` as a result of the configuration `point`. The operation
    of the result gets dfslab's name.

    The reported mean time of the operation becomes the time of its step. If the tool reported no
    mean time, the time is number of clients / rate (Little's law). An operation of several calls,
    such as the creation of a file, gets no step time.
    """
    operation, step = TRANSFERS.get(one.operation, (one.operation, one.operation))
    assert one.rate_per_s
    time_s = one.latency_s.get("mean")
    notes = [note for note in plain.notes if note != as_results.UNKNOWN_DEPLOYMENT]
    notes += [] if time_s is not None else [CLOSED]
    if one.operation in TRANSFERS:
        notes += [] if _is_random(one) or one.is_random is not None else [ORDER]
        notes += [] if one.evidence.work.data_size else [FILE_SIZE]
    if time_s is None:
        time_s = point.scenario.workload.clients / one.rate_per_s
    steps = [Step(operation=operation, step=step, time_s_mean=time_s, count=1)]
    has_step = one.operation in TRANSFERS or one.operation in ONE_CALL
    return plain.model_copy(
        update={
            "point": point,
            "point_id": point.id,
            "repetition": repetition,
            "metrics": as_results.metrics_of(replace(one, operation=operation)),
            "notes": notes,
            "steps": steps if has_step else [],
        }
    )


def described_rows(found: Sequence[Result]) -> list[str]:
    """Returns one line of text for each result: its configuration and its metrics."""
    rows = []
    for one in found:
        labels = ", ".join(f"{key.rpartition('.')[2]} = {v}" for key, v in one.labels.items())
        rows.append(f"{labels}{as_results.state_text(one)}: {as_results.figures_text(one)}")
    return rows
