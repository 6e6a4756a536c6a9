"""Converts a report of another tool to results of dfslab.

Where the report does not contain a fact, the provenance of the result has an empty text or the
number 0. The scenario of the result has the workload `command` and a host without a name. The only
known parameter of the workload is the number of clients.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from dfslab.documents import metrics
from dfslab.imports.tool_report import ToolMeasurement, ToolReport
from dfslab.method import MEASURE
from dfslab.result import Metric, Provenance, Result
from dfslab.spec.design import LevelValue
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario

UNKNOWN_DEPLOYMENT = (
    "the tool's report names no deployment: that of the scenario is not what it ran on"
)
UNKNOWN_CLIENTS = "the number of clients is not known: 1 is written"
WORKLOAD = "workload"


def results(report: ToolReport, path: Path, findings: Sequence[str] = ()) -> list[Result]:
    """Returns one result for each measurement, in the order of the report. `path`: the file of the
    report. `findings`: notes on the whole report, which are added to every result."""
    scenario = scenario_of(report, path)
    origin = _provenance(report)
    return [_result(one, scenario, origin, report.command, findings) for one in report.measurements]


def scenario_of(report: ToolReport, path: Path) -> Scenario:
    """Returns the scenario of an imported file. Its title names the file as its origin."""
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
                "command": [report.tool, "{part}", "{operation}"],
                "part": "",
                "operation": "",
            },
            "run": {"methods": [MEASURE], "repetitions": 1},
        },
    )


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
        started=report.started,
        seed=0,
        versions={"imported by": f"dfslab {metadata.version('dfslab')}"},
    )


def _result(
    one: ToolMeasurement,
    scenario: Scenario,
    origin: Provenance,
    command: str,
    findings: Sequence[str],
) -> Result:
    labels: dict[str, LevelValue] = {
        f"{WORKLOAD}.part": one.part,
        f"{WORKLOAD}.operation": one.operation,
    }
    if one.clients:
        labels[f"{WORKLOAD}.clients"] = one.clients
    point = Point(scenario=scenario.with_values(labels), labels=labels)
    notes = [*one.notes, *findings, UNKNOWN_DEPLOYMENT]
    notes += [] if one.clients else [UNKNOWN_CLIENTS]
    notes += [f"command line: {command}"] if command else []
    return Result(
        method=MEASURE,
        point_id=point.id,
        point=point,
        repetition=one.repetition,
        complete=one.complete,
        metrics=metrics_of(one),
        notes=notes,
        provenance=origin,
    )


def metrics_of(one: ToolMeasurement) -> dict[str, Metric]:
    """Returns the reported figures of a measurement as metrics. Unreported figures are left out."""
    values = {metrics.RATE: one.rate_per_s, metrics.THROUGHPUT: one.throughput_bytes_per_s}
    values |= {
        metrics.key(metrics.LATENCY, statistic, one.operation): value_s
        for statistic, value_s in one.latency_s.items()
    }
    return {name: Metric(value=value) for name, value in values.items() if value is not None}


def table_rows(found: Sequence[Result]) -> list[str]:
    """Returns one line of text for each result. The line has the part of the benchmark, the
    operation, and the reported metrics in SI units.
    """
    rows = []
    for one in found:
        part, operation = (one.labels[f"{WORKLOAD}.{key}"] for key in ("part", "operation"))
        figures = ", ".join(f"{name} = {metric.value:.6g}" for name, metric in one.metrics.items())
        state = "" if one.complete else " (incomplete)"
        named = part if part == operation else f"{part}, {operation}"
        rows.append(f"{named}{state}: {figures}")
    return rows
