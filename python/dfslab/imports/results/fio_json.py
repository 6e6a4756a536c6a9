"""Reads `fio --output-format=json` (or json+) of fio 2 and 3, also of its client/server mode.

Traps: fio 2 has latencies in microseconds, `io_bytes` and `bw` in KiB; fio 3 has nanoseconds. Jobs
of one name and group (numjobs without group_reporting) worked concurrently, so their rates add up.
Percentiles are of completions unless the job asks for `lat_percentiles`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dfslab.imports.fio_evidence import evidence
from dfslab.imports.tool_report import (
    KIBI,
    Json,
    ResultReader,
    ToolMeasurement,
    ToolReport,
    is_table,
    loaded,
    number,
    optional,
    table,
    tables,
)

TITLE = "fio: JSON of fio 2 and 3"
MARK = re.compile(rb'"fio version"\s*:\s*"')
DIRECTIONS = ("read", "write", "trim", "mixed")
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p999": 99.9}
ALL = "All clients"
# The sum of the times of two jobs is nearly twice the time of each.
SUM_FROM = 1.5


def recognises(head: bytes) -> bool:
    """Whether the beginning of a file has fio's version."""
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """The measurements of every job name and direction. ValueError if the text is malformed."""
    document = loaded(text)
    jobs = tables(document.get("jobs")) or tables(document.get("client_stats"))
    together = [job for job in jobs if job.get("jobname") == ALL]
    groups: dict[tuple[str, str], list[Json]] = {}
    for job in together or jobs:
        key = (str(job.get("jobname", "")), str(job.get("groupid", 0)))
        groups.setdefault(key, []).append(job)
    names = [name for name, _ in groups]
    found = []
    for (name, group), members in groups.items():
        part = name if names.count(name) == 1 else f"{name}, group {group}"
        found += [
            one
            for direction in DIRECTIONS
            if (one := _measured(part, direction, members, document))
        ]
    return ToolReport(
        "fio", tuple(found), _version(document), started=str(document.get("time", ""))
    )


def _version(document: Json) -> str:
    return str(document.get("fio version", "")).removeprefix("fio-")


def _measured(
    part: str, direction: str, jobs: Sequence[Json], document: Json
) -> ToolMeasurement | None:
    """The sums of one direction over the jobs of a group; None if no job worked in it."""
    rows = [(job, row) for job in jobs if is_table(row := job.get(direction))]
    rows = [(job, row) for job, row in rows if number(row.get("iops", 0), "iops")]
    if not rows:
        return None
    latency, notes = _latency([row for _, row in rows])
    options = jobs[0].get("job options")
    given = {**_options(document.get("global options")), **_options(options)}
    counted = given.get("numjobs", "1")
    clients = int(counted) if len(rows) == 1 and counted.isdigit() else len(rows)
    if len(rows) == 1 and clients > 1 and not _is_of_group(given, *rows[0]):
        clients = 1
    failed = [job for job in jobs if job.get("error") not in (0, None)]
    if failed:
        notes = (*notes, f"fio reports error {failed[0]['error']}")
    return ToolMeasurement(
        part,
        direction,
        sum(number(row.get("iops"), "iops") for _, row in rows),
        sum(_bytes_per_s(row) for _, row in rows),
        latency,
        clients,
        complete=not failed,
        notes=notes,
        evidence=evidence(direction, rows, given, clients, document),
    )


def _is_of_group(given: Mapping[str, str], job: Json, row: Json) -> bool:
    """Whether a row is the sum of all jobs. Options without a value are not in the JSON, but the
    time of the jobs is then a sum, too."""
    whole, own = optional(job, "job_runtime"), optional(row, "runtime")
    return "group_reporting" in given or bool(whole and own and whole > SUM_FROM * own)


def _options(value: object) -> dict[str, str]:
    return {key: str(one) for key, one in value.items()} if is_table(value) else {}


def _bytes_per_s(row: Json) -> float:
    """fio 3 has `bw_bytes`; before, `bw` in KiB is the only rate of bytes."""
    exact = optional(row, "bw_bytes")
    return number(row.get("bw"), "bw") * KIBI if exact is None else exact


def _latency(rows: Sequence[Json]) -> tuple[dict[str, float], tuple[str, ...]]:
    """The mean over all jobs, and the quantiles of a single job, with notes on them."""
    units = {"lat_ns": 1e-9, "lat": 1e-6}
    key = next((one for one in units if all(one in row for row in rows)), "")
    if not key:
        return {}, ()
    unit_s = units[key]
    whole = [table(row[key], key) for row in rows]
    # fio 2 has no number of samples, but the number of operations.
    counts = [
        number(part.get("N", row.get("total_ios", 1)), "N")
        for part, row in zip(whole, rows, strict=True)
    ]
    if not sum(counts):
        return {}, ()
    means = [number(part.get("mean"), "mean") for part in whole]
    weighted = sum(mean * count for mean, count in zip(means, counts, strict=True))
    found = {"mean": weighted / sum(counts) * unit_s}
    if len(rows) > 1:
        return found, ("quantiles of several jobs cannot be added",)
    notes: tuple[str, ...] = ()
    completed = rows[0].get(f"c{key}")
    shown = whole[0].get("percentile")
    if not is_table(shown) and is_table(completed):
        shown = completed.get("percentile")
        notes = ("quantiles are of completion, without the time of submission",)
    if not is_table(shown):
        return found, ()
    by_share = {float(share): number(value, share) for share, value in shown.items()}
    quantiles = {
        name: by_share[share] * unit_s for name, share in PERCENTILES.items() if share in by_share
    }
    return found | quantiles, notes if quantiles else ()


READER = ResultReader(TITLE, recognises, read)
