"""Reads the JSON output of fio 2 and 3 (`--output-format=json` or json+). The output may be that of
fio's client/server mode.

Pitfalls:
- In fio 2, latencies are in microseconds, and `io_bytes` and `bw` are based on KiB. In fio 3,
  latencies are in nanoseconds.
- Jobs with the same name and group ran concurrently, so their rates are added. fio lists such jobs
  singly if `numjobs` is set without `group_reporting`.
- Percentiles are of completion latencies, unless the job sets `lat_percentiles`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from dfslab.imports.fio_evidence import evidence
from dfslab.imports.redundant import fio_figures
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
# Detects rows that are sums over several jobs. In a sum over two jobs, the job's run time
# (`job_runtime`) is nearly twice the run time of the row. A row counts as a sum if `job_runtime` is
# more than SUM_FROM times the run time of the row.
SUM_FROM = 1.5


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file contains fio's version."""
    return MARK.search(head) is not None


def read(text: str) -> ToolReport:
    """Returns a report with one measurement for each combination of job name, group and direction
    ("read", "write", "trim" or "mixed"). Raises ValueError if the text is malformed.
    """
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
    """Returns one measurement for a group of jobs in one direction (such as "read"), with the sum
    of the jobs' rates. Returns None if no job moved data in this direction."""
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
    """Returns whether a row is the sum over all jobs of a group. One of two facts shows this:

    - `given` has the option `group_reporting`.
    - `job_runtime` exceeds the row's run time by the factor SUM_FROM. In a sum, fio adds up
      `job_runtime` over the jobs.

    The second fact is needed because the JSON may omit the option, which has no value.
    """
    whole, own = optional(job, "job_runtime"), optional(row, "runtime")
    return "group_reporting" in given or bool(whole and own and whole > SUM_FROM * own)


def _options(value: object) -> dict[str, str]:
    return {key: str(one) for key, one in value.items()} if is_table(value) else {}


def _bytes_per_s(row: Json) -> float:
    """Returns the bytes per second of a row. fio 3 reports `bw_bytes`; fio 2 reports only `bw`, in
    KiB/s."""
    exact = optional(row, "bw_bytes")
    return number(row.get("bw"), "bw") * KIBI if exact is None else exact


def _latency(rows: Sequence[Json]) -> tuple[dict[str, float], tuple[str, ...]]:
    """Returns (latencies, notes). `latencies` has the latency statistics in seconds by name: the
    mean over all jobs and, if there is a single job, the quantiles that fio reports. `notes` has
    remarks on these statistics. Both are empty if the rows have no latencies.
    """
    units = {"lat_ns": 1e-9, "lat": 1e-6}
    key = next((one for one in units if all(one in row for row in rows)), "")
    if not key:
        return {}, ()
    unit_s = units[key]
    whole = [table(row[key], key) for row in rows]
    # fio 2 does not report the number of samples, so the number of operations is used instead.
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


def contradictions(text: str) -> Iterator[str]:
    """Yields each contradiction: a rate that is not (operations or bytes) / time, sizes in KiB that
    are not those in bytes, times that do not ascend, and sums that are not those of the clients."""
    document = loaded(text)
    jobs = tables(document.get("jobs")) or tables(document.get("client_stats"))
    for job in jobs:
        for direction in DIRECTIONS:
            row = job.get(direction)
            if is_table(row) and optional(row, "iops"):
                for wrong in fio_figures.of_row(row):
                    yield f"{job.get('jobname', '')}, {direction}: {wrong}"
    whole = [job for job in jobs if job.get("jobname") == ALL]
    if len(whole) == 1 and len(jobs) > 1:
        parts = [job for job in jobs if job is not whole[0]]
        for direction in DIRECTIONS:
            for wrong in fio_figures.of_sums(whole[0], parts, direction):
                yield f"{ALL}, {direction}: {wrong}"


READER = ResultReader(TITLE, recognises, read, contradictions)
