"""Exports results in the format of `fio --output-format=json`."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from dfslab.documents.load_report import CpuReport
from dfslab.documents.measured_load import Buckets, MeasuredLoad
from dfslab.exports.contract import ResultExporter
from dfslab.histogram_buckets import width_ns
from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.studies.runs import completeness

TITLE = "One job for each measured result, as fio's JSON"
# The percentiles of latency that fio reports by default.
FIO_PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
# fio has only reads, writes and trims, so metadata operations are left out.
READS = ("read", "pread")
NOT_COMPARED = "the content of files was not compared with what was written"
WRITES = ("write", "append", "overwrite", "pwrite")


class _Latency(TypedDict, total=False):
    """Statistics of times in ns, with fio's keys. The keys of percentiles are numbers as text."""

    min: int
    max: int
    mean: float
    stddev: float
    N: int
    percentile: dict[str, int]


class _Direction(TypedDict):
    """Totals of reads, writes or trims, with fio's keys. `bw` is in KiB/s, `runtime` in ms."""

    io_bytes: int
    io_kbytes: int
    bw_bytes: int
    bw: int
    iops: float
    runtime: int
    total_ios: int
    short_ios: int
    drop_ios: int
    clat_ns: _Latency
    lat_ns: _Latency


class _Described(TypedDict, total=False):
    """fio's optional description of a job, under fio's key. It states that the content of files was
    not compared."""

    desc: str


# TypedDict is called as a function, because one of the keys ("job options") is no Python
# identifier.
_Job = TypedDict(
    "_Job",
    {
        "jobname": str,
        "desc": NotRequired[str],
        "groupid": int,
        "error": int,
        "job_runtime": int,
        "job options": dict[str, str],
        "read": _Direction,
        "write": _Direction,
        "trim": _Direction,
        "usr_cpu": float,
        "sys_cpu": float,
    },
)


def write(results: Sequence[Result]) -> bytes:
    """Returns the results in fio's JSON format, with one job for each measured result. The document
    has only the keys that readers of fio's output use.

    `iops` counts whole operations, not system calls. If operations have a scheduled start, `lat_ns`
    is the response time since that start.

    Raises RunFailed if there are results, but none of dfslab's load generator.
    """
    measured = [(result, load) for result in results if (load := result.load) and load.generator]
    if results and not measured:
        raise RunFailed("fio's JSON has jobs of a load generator, and the run has none; use csv")
    first = measured[0][0].provenance if measured else None
    document = {
        "fio version": first.software.replace(" ", "-") if first else "dfslab",
        "time": first.started if first else "",
        "jobs": [_job(number, *one) for number, one in enumerate(measured)],
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def _job(number: int, result: Result, load: MeasuredLoad) -> _Job:
    window_ms = round(load.window_s * 1e3)
    labels = ", ".join(f"{key}={value}" for key, value in result.labels.items())
    cpu, window_s = load.cpu_s or CpuReport(user=0.0, system=0.0), load.window_s or math.inf
    described: _Described = {"desc": NOT_COMPARED} if completeness.is_unverified(result) else {}
    return {
        "jobname": labels or result.point.scenario.name,
        **described,
        "groupid": number,
        "error": 0 if completeness.is_whole(result) else 1,
        "job_runtime": window_ms,
        "job options": {key: str(value) for key, value in result.labels.items()},
        "read": _direction(load, READS),
        "write": _direction(load, WRITES),
        "trim": _direction(load, ()),
        "usr_cpu": 100 * cpu.user / window_s,
        "sys_cpu": 100 * cpu.system / window_s,
    }


def _direction(load: MeasuredLoad, names: Sequence[str]) -> _Direction:
    done = [one for name, one in load.operations.items() if name in names]
    size, count = sum(one.bytes for one in done), sum(one.count for one in done)
    window_s = load.window_s or math.inf
    rate = size / window_s
    latency = _latency(_merged(load.histograms, names))
    due = _merged(load.response_histograms, names)
    whole = _latency(due) if due else latency.copy()
    whole.pop("percentile", None)
    return {
        "io_bytes": size,
        "io_kbytes": size // 1024,
        "bw_bytes": round(rate),
        "bw": round(rate / 1024),
        "iops": count / window_s,
        "runtime": round(load.window_s * 1e3) if count else 0,
        "total_ios": count,
        "short_ios": 0,
        "drop_ios": 0,
        "clat_ns": latency,
        "lat_ns": whole,
    }


def _merged(histograms: Mapping[str, Buckets], names: Sequence[str]) -> Buckets:
    """Returns the merged histogram of those operations that are listed in `names`.

    All histograms have the same bucket bounds.
    """
    counts: Counter[int] = Counter()
    for name in names:
        for low_ns, count in histograms.get(name, ()):
            counts[low_ns] += count
    return sorted(counts.items())


def _latency(buckets: Buckets) -> _Latency:
    """Returns the latency statistics of a histogram in ns. The statistics are computed from the
    midpoints of the histogram's buckets, except the minimum, which is the lower bound of the lowest
    bucket.

    A midpoint differs from a recorded value by at most 1 part in 256. For an empty histogram, all
    statistics are zero, and there are no percentiles.
    """
    count = sum(number for _, number in buckets)
    if not count:
        return {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    middles = [(_middle(low), number) for low, number in buckets]
    mean = sum(value * number for value, number in middles) / count
    variance = sum((value - mean) ** 2 * number for value, number in middles) / count
    percentile: dict[str, int] = {}
    reached, at = 0, 0
    for percent in FIO_PERCENTILES:
        while reached < percent / 100 * count:
            reached += middles[at][1]
            at += 1
        percentile[f"{percent:.6f}"] = round(middles[max(0, at - 1)][0])
    return {
        "min": buckets[0][0],
        "max": round(middles[-1][0]),
        "mean": mean,
        "stddev": variance**0.5,
        "N": count,
        "percentile": percentile,
    }


def _middle(low_ns: int) -> float:
    return low_ns + (width_ns(low_ns) - 1) / 2


EXPORTER = ResultExporter(TITLE, ".json", write)
