"""Exports results to other programs: rows for CSV and Parquet, Prometheus text, fio's JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dfslab.documents import metrics as metric
from dfslab.documents.load_report import CpuReport
from dfslab.documents.measured_load import Buckets, MeasuredLoad
from dfslab.documents.table import Table
from dfslab.lazily import lazily
from dfslab.result import Result

if TYPE_CHECKING:
    import pyarrow as arrow
    import pyarrow.parquet as parquet
else:
    arrow = lazily("pyarrow")
    parquet = lazily("pyarrow.parquet")

NANO = 1e-9
# fio's default percentiles.
FIO_PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
# A histogram has 2 to the power of this many buckets per octave (core/stats).
BUCKETS_AN_OCTAVE_BITS = 7
# fio knows three directions; metadata operations have none.
FIO_DIRECTIONS = {
    "read": ("read", "pread"),
    "write": ("write", "append", "overwrite", "pwrite"),
    "trim": (),
}
# Times of each operation: the histograms of a load with these times, and their description.
TIMES: dict[str, tuple[Callable[[MeasuredLoad], dict[str, Buckets]], str]] = {
    metric.LATENCY: (lambda load: load.histograms, "Time of an operation"),
    metric.RESPONSE: (
        lambda load: load.response_histograms,
        "Time of an operation since it was due",
    ),
}


def rows(results: Sequence[Result]) -> list[dict[str, Any]]:
    """One row for each metric of each result; `operation` is empty for metrics of the whole run."""
    found = []
    for result in results:
        same = {
            "method": result.method,
            "point_id": result.point_id,
            "repetition": result.repetition,
            "labels": json.dumps(dict(result.labels), sort_keys=True),
            "complete": result.complete,
            "seed": result.provenance.seed,
            "started": result.provenance.started,
            "software": result.provenance.software,
            "commit": result.provenance.commit,
        }
        for key, value in result.metrics.items():
            named = metric.parsed(key)
            numbers = {"value": value.value, "low": value.low, "high": value.high}
            found.append({**same, "metric": named.name, "operation": named.operation, **numbers})
    return found


def as_csv(results: Sequence[Result]) -> bytes:
    """The rows with a header; unknown values are empty."""
    table, text = rows(results), io.StringIO()
    writer = csv.DictWriter(text, list(table[0]) if table else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue().encode()


def as_parquet(results: Sequence[Result]) -> bytes:
    """The rows as typed columns."""
    schema = arrow.schema(
        [
            ("method", arrow.string()),
            ("point_id", arrow.string()),
            ("repetition", arrow.int64()),
            ("labels", arrow.string()),
            ("complete", arrow.bool_()),
            ("seed", arrow.int64()),
            ("started", arrow.string()),
            ("software", arrow.string()),
            ("commit", arrow.string()),
            ("metric", arrow.string()),
            ("operation", arrow.string()),
            ("value", arrow.float64()),
            ("low", arrow.float64()),
            ("high", arrow.float64()),
        ]
    )
    sink = arrow.BufferOutputStream()
    parquet.write_table(arrow.Table.from_pylist(rows(results), schema=schema), sink)
    return sink.getvalue().to_pybytes()


def as_prometheus(results: Sequence[Result]) -> bytes:
    """The text format: a gauge for each metric, and histograms of each operation's times."""
    gauges: dict[str, list[str]] = {}
    for row in rows(results):
        labels = _labels(row, json.loads(row["labels"]))
        line = f"dfslab_{row['metric']}{labels} {_number(row['value'])}"
        gauges.setdefault(f"dfslab_{row['metric']}", []).append(line)
    lines = []
    for name, samples in gauges.items():
        lines += [
            f"# HELP {name} {name.removeprefix('dfslab_')} in SI units",
            f"# TYPE {name} gauge",
            *samples,
        ]
    for kind, (_, help_text) in TIMES.items():
        histograms = [line for result in results for line in _prometheus_histograms(result, kind)]
        if histograms:
            lines += [
                f"# HELP dfslab_{kind}_seconds {help_text}",
                f"# TYPE dfslab_{kind}_seconds histogram",
                *histograms,
            ]
    return ("\n".join(lines) + "\n").encode()


def _prometheus_histograms(result: Result, kind: str) -> Iterator[str]:
    """Cumulative counts at powers of two nanoseconds, which are bucket boundaries: no bucket is
    split."""
    histograms = TIMES[kind][0](result.load) if result.load else {}
    for operation, buckets in histograms.items():
        row = {
            "method": result.method,
            "point_id": result.point_id,
            "repetition": result.repetition,
            "operation": operation,
        }
        counts: dict[int, int] = {}
        for low_ns, count in buckets:
            octave = int(low_ns).bit_length()
            counts[octave] = counts.get(octave, 0) + count
        total = 0
        for octave in range(min(counts, default=0), max(counts, default=-1) + 1):
            total += counts.get(octave, 0)
            bound = _number((1 << octave) * NANO)
            labels = _labels(row, result.labels, le=bound)
            yield f"dfslab_{kind}_seconds_bucket{labels} {total}"
        yield f"dfslab_{kind}_seconds_bucket{_labels(row, result.labels, le='+Inf')} {total}"
        mean_s = result.value(metric.key(kind, metric.MEAN, operation))
        yield f"dfslab_{kind}_seconds_sum{_labels(row, result.labels)} {_number(mean_s * total)}"
        yield f"dfslab_{kind}_seconds_count{_labels(row, result.labels)} {total}"


def _labels(row: Mapping[str, Any], varied: Mapping[str, Any], **more: str) -> str:
    kept = {"method": row["method"], "point": row["point_id"], "repetition": row["repetition"]}
    kept |= {"operation": row["operation"]} if row["operation"] else {}
    kept |= {"".join(c if c.isalnum() else "_" for c in key): v for key, v in varied.items()} | more
    return "{" + ",".join(f'{key}="{_escaped(str(value))}"' for key, value in kept.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return repr(float(value)) if math.isfinite(value) else {True: "+Inf", False: "NaN"}[value > 0]


def as_fio(results: Sequence[Result]) -> bytes:
    """The keys that readers of `fio --output-format=json` use; one job for each measured result.

    Reads and writes are whole operations, so `iops` counts operations, not system calls. Where
    operations have a scheduled start, `lat_ns` is the response time from it.
    """
    measured = [(result, load) for result in results if (load := result.load) and load.generator]
    first = measured[0][0].provenance if measured else None
    document = {
        "fio version": first.software.replace(" ", "-") if first else "dfslab",
        "time": first.started if first else "",
        "jobs": [_fio_job(number, *one) for number, one in enumerate(measured)],
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def _fio_job(number: int, result: Result, load: MeasuredLoad) -> dict[str, Any]:
    window_ms = round(load.window_s * 1e3)
    labels = ", ".join(f"{key}={value}" for key, value in result.labels.items())
    cpu, window_s = load.cpu_s or CpuReport(user=0.0, system=0.0), load.window_s or math.inf
    return {
        "jobname": labels or result.point.scenario.name,
        "groupid": number,
        "error": 0 if result.complete else 1,
        "job_runtime": window_ms,
        "job options": {key: str(value) for key, value in result.labels.items()},
        **{direction: _fio_direction(load, names) for direction, names in FIO_DIRECTIONS.items()},
        "usr_cpu": 100 * cpu.user / window_s,
        "sys_cpu": 100 * cpu.system / window_s,
    }


def _fio_direction(load: MeasuredLoad, names: Sequence[str]) -> dict[str, Any]:
    done = [one for name, one in load.operations.items() if name in names]
    size, count = sum(one.bytes for one in done), sum(one.count for one in done)
    window_s = load.window_s or math.inf
    rate = size / window_s
    latency = _fio_latency(_together(load.histograms, names))
    due = _together(load.response_histograms, names)
    whole = _fio_latency(due) if due else latency
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
        "lat_ns": {k: v for k, v in whole.items() if k != "percentile"},
    }


def _together(histograms: Mapping[str, Buckets], names: Sequence[str]) -> Buckets:
    """The sum of the histograms of several operations; their buckets have the same bounds."""
    counts: Counter[int] = Counter()
    for name in names:
        for low_ns, count in histograms.get(name, ()):
            counts[low_ns] += count
    return sorted(counts.items())


def _fio_latency(buckets: Buckets) -> dict[str, Any]:
    """Statistics in nanoseconds, from bucket midpoints: within 1 part in 256 of each value."""
    count = sum(number for _, number in buckets)
    if not count:
        return {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    middles = [(_middle(low), number) for low, number in buckets]
    mean = sum(value * number for value, number in middles) / count
    variance = sum((value - mean) ** 2 * number for value, number in middles) / count
    percentile, reached, at = {}, 0, 0
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
    width = 1 << max(0, int(low_ns).bit_length() - 1 - BUCKETS_AN_OCTAVE_BITS)
    return low_ns + (width - 1) / 2


def tables_as_csv(tables: Sequence[Table]) -> bytes:
    """Tables one after another, each with its title before it and an empty line after it.

    Values are plain numbers in SI units. A column whose cells have intervals is followed by two
    columns with their lower and upper ends.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for table in tables:
        bounded = [
            any(row[place].low is not None for row in table.rows)
            for place in range(len(table.columns))
        ]
        writer.writerow([f"# {table.title}"])
        writer.writerow(
            name
            for column, has_bounds in zip(table.columns, bounded, strict=True)
            for name in (column.title, *(("low", "high") if has_bounds else ()))
        )
        for row in table.rows:
            writer.writerow(
                value
                for cell, has_bounds in zip(row, bounded, strict=True)
                for value in (cell.value, *((cell.low, cell.high) if has_bounds else ()))
            )
        writer.writerow([])
    return text.getvalue().encode()


FORMS: dict[str, Callable[[Sequence[Result]], bytes]] = {
    "csv": as_csv,
    "parquet": as_parquet,
    "prometheus": as_prometheus,
    "fio": as_fio,
}
