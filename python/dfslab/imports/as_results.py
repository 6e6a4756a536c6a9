"""Converts a report of another tool to results of dfslab.

Where the report does not contain a fact, the provenance of the result has an empty text or the
number 0. The scenario of the result has the workload `command` and a host without a name. The
known parameters of the workload are the number of clients and the settings that the tool reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from dfslab.documents import metrics
from dfslab.documents.table import number_text
from dfslab.imports.tool_report import ToolMeasurement, ToolReport
from dfslab.method import MEASURE
from dfslab.result import IMPORTED_BY, Metric, Provenance, Result
from dfslab.spec import clock, units
from dfslab.spec.design import LevelValue
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario
from dfslab.spec.streams.workload import FileParameters

UNKNOWN_DEPLOYMENT = (
    "the tool's report names no deployment: that of the scenario is not what it ran on"
)
UNKNOWN_CACHE = (
    "whether the page cache served the data is not known: the tool's report does not state it"
)
UNKNOWN_ZONE = "date by the tool's clock, whose time zone is not known"
UNKNOWN_CLIENTS = "the number of clients is not known: 1 is written"
WORKLOAD = "workload"
# Number of significant digits of printed figures.
DIGITS = 3
# Names in dfslab of the operations "read" and "write" of a tool whose operations are transfers.
TRANSFER_NAMES = {"read": "pread", "write": "pwrite"}


def results(report: ToolReport, path: Path, findings: Sequence[str] = ()) -> list[Result]:
    """Returns one result for each measurement, in the order of the report. `path`: the file of the
    report. `findings`: notes on the whole report, which are added to every result."""
    scenario = scenario_of(report, path)
    origin = _provenance(report)
    return [_result(one, scenario, origin, report, findings) for one in report.measurements]


def scenario_of(report: ToolReport, path: Path) -> Scenario:
    """Returns the scenario of an imported file: its configurations are those of the measurements,
    and its title names the file as its origin."""
    rows = unique_rows(map(labels_of, report.measurements))
    return _without_configurations(report, path, rows).with_rows(rows)


def unique_rows(rows: Iterable[dict[str, LevelValue]]) -> list[dict[str, LevelValue]]:
    """Returns the rows in their order, equal rows once."""
    return list({tuple(row.items()): row for row in rows}.values())


def _without_configurations(
    report: ToolReport, path: Path, rows: Iterable[Mapping[str, LevelValue]]
) -> Scenario:
    """Returns the scenario of an imported file without its configurations. Each key of the
    configurations `rows` is a word of the command."""
    named = ("part", "operation")
    varied = {key.removeprefix(f"{WORKLOAD}."): None for one in rows for key in one}
    others = [key for key in varied if key not in (*named, *FileParameters.model_fields, "clients")]
    name = re.sub(r"[^a-z0-9-]+", "-", f"{report.tool}-{path.name}".lower()).strip("-")
    version = f" {report.version}" if report.version else ""
    return build(
        Scenario,
        {
            "name": name[:60],
            "title": f"Imported: {report.tool}{version}, {path.name}",
            "deployment": {"node": [{"name": "unknown", "roles": {"client": 1, "storage": 1}}]},
            "file_system": {"name": "local"},
            WORKLOAD: {
                "name": "command",
                "command": [report.tool, *(f"{{{key}}}" for key in (*named, *others))],
                **dict.fromkeys((*named, *others), ""),
            },
            "run": {"methods": [MEASURE], "repetitions": repetitions_of(report)},
        },
    )


def repetitions_of(report: ToolReport) -> int:
    """Returns the largest number of repetitions of a measurement in a report."""
    return 1 + max(one.repetition for one in report.measurements)


def labels_of(one: ToolMeasurement) -> dict[str, LevelValue]:
    """Returns the keys of the workload `command` that describe a measurement, with their values:
    part, operation and, if known, the number of clients and the settings of the job."""
    labels: dict[str, LevelValue] = {
        f"{WORKLOAD}.part": one.part,
        f"{WORKLOAD}.operation": one.operation,
    }
    if one.clients:
        labels[f"{WORKLOAD}.clients"] = one.clients
    settings = one.settings.labels().items()
    return labels | {f"{WORKLOAD}.{key}": value for key, value in settings}


def _provenance(report: ToolReport) -> Provenance:
    """Returns the provenance of the measurements. Fields that the tool does not report are "" or
    0."""
    return Provenance(
        software=f"{report.tool} {report.version}".strip(),
        commit="",
        python="",
        host=report.host,
        kernel="",
        cores=0,
        memory_bytes=0,
        started=clock.utc_text(report.started),
        seed=0,
        versions={IMPORTED_BY: f"dfslab {metadata.version('dfslab')}"},
    )


def _result(
    one: ToolMeasurement,
    scenario: Scenario,
    origin: Provenance,
    report: ToolReport,
    findings: Sequence[str],
) -> Result:
    labels = labels_of(one)
    point = Point(scenario=scenario.with_values(labels), labels=labels)
    notes = [*one.notes, *findings, UNKNOWN_DEPLOYMENT]
    notes += [] if one.clients else [UNKNOWN_CLIENTS]
    is_cache_known = one.evidence.work.cache is not None or one.throughput_bytes_per_s is None
    notes += [] if is_cache_known else [UNKNOWN_CACHE]
    notes += [f"command line: {report.command}"] if report.command else []
    notes += [f"{UNKNOWN_ZONE}: {report.started}"] if report.started and not origin.started else []
    return Result(
        method=MEASURE,
        point_id=point.id,
        point=point,
        repetition=one.repetition,
        complete=one.complete,
        metrics=metrics_of(_named_by_dfslab(one)),
        notes=notes,
        provenance=origin,
    )


def _named_by_dfslab(one: ToolMeasurement) -> ToolMeasurement:
    """Returns a measurement of transfers with dfslab's name of the operation, so that its rate is
    not counted in files. Other measurements are returned unchanged."""
    if not one.counts_transfers:
        return one
    return replace(one, operation=TRANSFER_NAMES.get(one.operation, one.operation))


def metrics_of(one: ToolMeasurement) -> dict[str, Metric]:
    """Returns the reported figures of a measurement as metrics. Unreported figures are left out."""
    values = {metrics.RATE: one.rate_per_s, metrics.THROUGHPUT: one.throughput_bytes_per_s}
    values |= {
        metrics.key(metrics.LATENCY, statistic, one.operation): value_s
        for statistic, value_s in one.latency_s.items()
    }
    return {name: Metric(value=value) for name, value in values.items() if value is not None}


def table_rows(found: Sequence[Result]) -> list[str]:
    """Returns one line of text for each result: the part of the benchmark, the operation, and the
    reported metrics."""
    rows = []
    for one in found:
        part, operation = (one.labels[f"{WORKLOAD}.{key}"] for key in ("part", "operation"))
        named = part if part == operation else f"{part}, {operation}"
        rows.append(f"{named}{state_text(one)}: {figures_text(one)}")
    return rows


def state_text(result: Result) -> str:
    """Returns the remark that a result is incomplete; "" for a complete result."""
    return "" if result.complete else " (incomplete)"


def figures_text(result: Result) -> str:
    """Returns the metrics of a result as text in units that people read, such as "1,060
    operations/s, 4.34 MB/s, mean time 754 us"."""
    return ", ".join(_figure(name, metric.value) for name, metric in result.metrics.items())


def _figure(name: str, value: float) -> str:
    if name == metrics.RATE:
        return f"{number_text(value)} operations/s"
    kind = metrics.REGISTRY[metrics.parsed(name).name]
    words = "" if name == metrics.THROUGHPUT else f"{kind.statistic} time "
    return words + units.text(value, kind.unit, DIGITS)
