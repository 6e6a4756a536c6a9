"""Converts another tool's report to evidence, which the plausibility rules judge. There is one
piece of evidence on each measurement in the report, and one on the repetitions of each repeated
measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dfslab.documents.evidence import Coverage, Evidence, Hardware, Repetitions, Speed
from dfslab.imports.tool_report import ToolMeasurement, ToolReport


def of_report(report: ToolReport, hardware: Hardware | None = None) -> list[Evidence]:
    """Returns the evidence in a tool's report in this order: on each measurement; on repetitions;
    evidence that the report itself states. `hardware`: the deployment, if the user declares it. If
    the report has the number of client nodes, this number replaces the declared one."""
    single = [_of_one(one, hardware) for one in report.measurements]
    return [*single, *_repeated(report.measurements), *report.evidence]


def _of_one(one: ToolMeasurement, hardware: Hardware | None) -> Evidence:
    known = one.evidence
    changes: dict[str, Speed | Hardware | Coverage | str] = {
        "subject": _subject(one),
        "speed": Speed.model_construct(
            rate=one.rate_per_s,
            throughput=one.throughput_bytes_per_s,
            latency_mean=one.latency_s.get("mean"),
            latency_p50=one.latency_s.get("p50"),
            latency_p99=one.latency_s.get("p99"),
            latency_max=known.speed.latency_max,
        ),
    }
    if hardware is not None:
        nodes = known.hardware.client_nodes
        changes["coverage"] = known.coverage.model_copy(
            update={"nodes_stated": hardware.client_nodes}
        )
        changes["hardware"] = hardware.model_copy(
            update={} if nodes is None else {"client_nodes": nodes}
        )
    return known.model_copy(update=changes)


def _subject(one: ToolMeasurement) -> str:
    named = one.part if one.part == one.operation else f"{one.part}, {one.operation}"
    return f"{named}, run {one.repetition + 1}" if one.repetition else named


def _repeated(measurements: Sequence[ToolMeasurement]) -> Iterator[Evidence]:
    groups: dict[tuple[str, str], list[ToolMeasurement]] = {}
    for one in measurements:
        if one.complete:
            groups.setdefault((one.part, one.operation), []).append(one)
    for (part, operation), members in groups.items():
        if len(members) < 2:
            continue
        ordered = sorted(members, key=lambda one: one.repetition)
        named = part if part == operation else f"{part}, {operation}"
        yield Evidence(
            subject=f"{named}, {len(members)} repetitions",
            repetitions=Repetitions.model_construct(
                rates=[one.rate_per_s for one in ordered if one.rate_per_s is not None],
                throughputs=[
                    one.throughput_bytes_per_s
                    for one in ordered
                    if one.throughput_bytes_per_s is not None
                ],
            ),
        )
