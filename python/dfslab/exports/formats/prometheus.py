"""Exports results in the text format of Prometheus."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from dfslab.documents import metrics
from dfslab.documents.measured_load import Buckets, MeasuredLoad
from dfslab.documents.table import Value
from dfslab.exports.contract import ResultExporter
from dfslab.exports.metric_rows import MetricRow, rows
from dfslab.result import Result
from dfslab.spec.printable import printable
from dfslab.studies.runs import completeness

TITLE = "Gauges and histograms as Prometheus reads them"
NANO = 1e-9
# The exported kinds of times, such as latency. The value of a kind is a pair: a function that
# returns the histograms of these times from a workload run, and a description of the times for the
# output.
TIMES: dict[str, tuple[Callable[[MeasuredLoad], dict[str, Buckets]], str]] = {
    metrics.LATENCY: (lambda load: load.histograms, "Time of an operation"),
    metrics.RESPONSE: (
        lambda load: load.response_histograms,
        "Time of an operation since its scheduled start",
    ),
}


class _Sample(NamedTuple):
    """The labels of a Prometheus sample. `operation` is empty for metrics of the whole run."""

    method: str
    point_id: str
    repetition: int
    operation: str

    @classmethod
    def of(cls, row: MetricRow) -> _Sample:
        return cls(row.method, row.point_id, row.repetition, row.operation)


def write(results: Sequence[Result]) -> bytes:
    """Returns the results in Prometheus' text format. Each metric becomes a gauge. The times of
    each operation become a histogram in seconds."""
    gauges: dict[str, list[str]] = {}
    for row in rows(results):
        labels = _labels(_Sample.of(row), json.loads(row.labels))
        line = f"dfslab_{row.metric}{labels} {_number(row.value)}"
        gauges.setdefault(f"dfslab_{row.metric}", []).append(line)
    lines = []
    for name, samples in gauges.items():
        lines += [
            f"# HELP {name} {name.removeprefix('dfslab_')} in SI units",
            f"# TYPE {name} gauge",
            *samples,
        ]
    lines += _completeness(results)
    lines += _content(results)
    for kind, (_, help_text) in TIMES.items():
        histograms = [line for result in results for line in _prometheus_histograms(result, kind)]
        if histograms:
            lines += [
                f"# HELP dfslab_{kind}_seconds {help_text}",
                f"# TYPE dfslab_{kind}_seconds histogram",
                *histograms,
            ]
    return ("\n".join(lines) + "\n").encode()


def _completeness(results: Sequence[Result]) -> list[str]:
    """Returns the lines of a gauge that states for each result whether it is complete (1) or not
    (0). Returns no lines if all results are complete."""
    if not completeness.incomplete(results):
        return []
    name = "dfslab_complete"
    samples = []
    for one in results:
        labels = _labels(_Sample(one.method, one.point_id, one.repetition, ""), one.labels)
        samples.append(f"{name}{labels} {int(completeness.is_whole(one))}")
    return [f"# HELP {name} 0: the run failed in part", f"# TYPE {name} gauge", *samples]


def _content(results: Sequence[Result]) -> list[str]:
    """Returns the lines of a gauge that has a value for each result of the load generator: 1 if the
    content of files was compared with what was written, else 0. Returns no lines if the content was
    compared in all results."""
    if not any(map(completeness.is_unverified, results)):
        return []
    name = "dfslab_content_compared"
    samples = []
    for one in results:
        if one.load is not None and one.load.generator is not None:
            labels = _labels(_Sample(one.method, one.point_id, one.repetition, ""), one.labels)
            samples.append(f"{name}{labels} {int(not completeness.is_unverified(one))}")
    return [
        f"# HELP {name} 0: the content of files was not compared with what was written",
        f"# TYPE {name} gauge",
        *samples,
    ]


def _prometheus_histograms(result: Result, kind: str) -> Iterator[str]:
    """Yields the lines of a Prometheus histogram of times for each operation of a result. `kind` is
    the kind of times, a key of TIMES. There are no lines for a result that was not measured.

    As usual in Prometheus, the counts are cumulative. The upper bounds of the buckets are powers of
    two in nanoseconds. These bounds are also bucket boundaries of the recorded histograms, so no
    recorded bucket has to be split.
    """
    histograms = TIMES[kind][0](result.load) if result.load else {}
    for operation, buckets in histograms.items():
        row = _Sample(result.method, result.point_id, result.repetition, operation)
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
        mean_s = result.value(metrics.key(kind, metrics.MEAN, operation))
        yield f"dfslab_{kind}_seconds_sum{_labels(row, result.labels)} {_number(mean_s * total)}"
        yield f"dfslab_{kind}_seconds_count{_labels(row, result.labels)} {total}"


def _labels(row: _Sample, varied: Mapping[str, Value], **more: str) -> str:
    kept: dict[str, Value] = {
        "method": row.method,
        "point": row.point_id,
        "repetition": row.repetition,
    }
    kept |= {"operation": row.operation} if row.operation else {}
    kept |= {"".join(c if c.isalnum() else "_" for c in key): v for key, v in varied.items()} | more
    return "{" + ",".join(f'{key}="{_escaped(str(value))}"' for key, value in kept.items()) + "}"


def _escaped(text: str) -> str:
    return printable(text).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return repr(float(value)) if math.isfinite(value) else {True: "+Inf", False: "NaN"}[value > 0]


EXPORTER = ResultExporter(TITLE, ".prom", write)
