"""Reads the JSON output of fio 2 and 3 (`--output-format=json` or json+). The output may be that of
fio's client/server mode.

Pitfalls:
- In fio 2, latencies are in microseconds, and `io_bytes` and `bw` are based on KiB. In fio 3,
  latencies are in nanoseconds.
- Jobs with the same name and group ran concurrently, so their rates are added. fio lists such jobs
  singly if `numjobs` is set without `group_reporting`.
- The times of fsync are in the part `sync` of a job, not in the times of its writes.
- `timestamp` and `time` are the date of the report, at the end of the run. `time` has no time zone.
- Percentiles are of completion latencies, unless the job sets `lat_percentiles`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dfslab.imports.fio_evidence import evidence, is_random, settings
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
# Pattern of lines of fio's normal output and of its terse output.
OTHER_OUTPUT = re.compile(rb"^(?:\S.*: \(groupid=\d+, jobs=\d+\): err=|\d+;fio-\d)", re.M)
DIRECTIONS = ("read", "write", "trim", "mixed")
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p999": 99.9}
ALL = "All clients"
AT_THE_SAME_TIME = "the job read and wrote at the same time: each rate is a part of its work"
SYNC_APART = "fio does not count the time of fsync in the times of writes"
# Detects rows that are sums over several jobs. In a sum over two jobs, the job's run time
# (`job_runtime`) is nearly twice the run time of the row. A row counts as a sum if `job_runtime` is
# more than SUM_FROM times the run time of the row.
SUM_FROM = 1.5


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file contains fio's version."""
    return MARK.search(head) is not None


def advice(head: bytes) -> str:
    """Returns how fio writes the JSON that dfslab reads, if a file has another output of fio."""
    if recognises(head) or OTHER_OUTPUT.search(head) is None:
        return ""
    return "is fio's text, which has rounded figures: run fio with --output-format=json"


def read(text: str) -> ToolReport:
    """Returns a report with one measurement for each combination of job name, group and direction
    ("read", "write", "trim" or "mixed"), and one for the calls of fsync of a group. Raises
    ValueError if the text is malformed.
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
        found += _of_group(part, members, document)
    started = str(document.get("timestamp") or document.get("time", ""))
    return ToolReport("fio", tuple(found), _version(document), started=started)


def _of_group(part: str, jobs: Sequence[Json], document: Json) -> list[ToolMeasurement]:
    """Returns the measurements of a group of jobs: one for each direction and, if the jobs forced
    written data to stable storage, one for the calls that did this. If the group has several
    directions, each measurement gets a note that states this."""
    found = [one for direction in DIRECTIONS if (one := _measured(part, direction, jobs, document))]
    if len(found) > 1:
        found = [replace(one, notes=(*one.notes, AT_THE_SAME_TIME)) for one in found]
    synced = _synced(part, jobs, found)
    return [*found, synced] if synced else found


def _synced(
    part: str, jobs: Sequence[Json], measured: Sequence[ToolMeasurement]
) -> ToolMeasurement | None:
    """Returns a measurement of the calls that forced written data to stable storage (fsync); None
    if no such call was made. fio does not add the time of these calls to the time of the writes.
    The rate of these calls is their number divided by the time of the writes. `measured`: the
    measurements of the directions."""
    rows = [row for job in jobs if is_table(row := job.get("sync"))]
    counts = [_syncs(row) for row in rows]
    writes = next((one for one in measured if one.operation in ("write", "mixed")), None)
    if not sum(counts) or writes is None:
        return None
    latency, notes = _latency([row for row, count in zip(rows, counts, strict=True) if count])
    times_s = [_run_s(job, writes.operation) for job in jobs]
    rate = None
    if len(rows) == len(jobs) and all(times_s):
        rate = sum(count / time_s for count, time_s in zip(counts, times_s, strict=True))
    return ToolMeasurement(
        part,
        "fsync",
        rate,
        latency_s=latency,
        clients=writes.clients,
        complete=writes.complete,
        notes=(*notes, SYNC_APART),
        settings=writes.settings,
    )


def _syncs(row: Json) -> float:
    """Returns the number of calls in fio's part about fsync."""
    times = row.get("lat_ns")
    return (optional(times, "N") if is_table(times) else None) or optional(row, "total_ios") or 0.0


def _run_s(job: Json, direction: str) -> float:
    """Returns the run time of a job in one direction in seconds; 0 if it is not reported."""
    row = job.get(direction)
    return (optional(row, "runtime") or 0.0) / 1000 if is_table(row) else 0.0


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
        counts_transfers=True,
        is_random=is_random(given),
        settings=settings(given),
        evidence=evidence(direction, rows, given, clients, document),
    )


def _is_of_group(given: Mapping[str, str], job: Json, row: Json) -> bool:
    """Returns whether a row is the sum over all jobs of a group. One of two facts shows this:

    - `given` has the option `group_reporting`.
    - `job_runtime` exceeds the row's run time by the factor SUM_FROM. In a sum, fio adds up
      `job_runtime` over the jobs.

    The second fact is needed because the JSON may omit the option `group_reporting`.
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
    remarks on these statistics. `latencies` and `notes` are empty if the rows have no latencies.
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
    differ from the sizes in bytes, times that do not ascend, and sums that differ from the sums
    over the clients."""
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


READER = ResultReader(TITLE, recognises, read, contradictions, advice)
