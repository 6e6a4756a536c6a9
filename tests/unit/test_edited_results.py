"""Tests of recorded results that a user edited: one figure is changed and the checksum is computed
again. Loading such a run names the figure, and every result that was not edited still loads."""

import json
import math
import re

import pytest
from dfslab.documents.load_report import Summary
from dfslab.documents.measured_load import MeasuredPhase, OperationCounts
from dfslab.result import Metric
from dfslab.studies.runs.records import result_file
from dfslab.studies.runs.records.impossible import contradiction
from dfslab.studies.runs.records.impossible_times import of_phase
from dfslab.studies.runs.records.record import key_of
from dfslab.studies.runs.store import load_results
from support.command import dfslab
from support.recorded import RUN
from support.stored import as_format_1, store_only

from verification.lies import museum

MEASURED = [one for one in load_results(RUN) if one.method == "measure"]
MEAN, P50, P90, P99, P999 = (
    f"latency_s_{one}.write" for one in ("mean", "p50", "p90", "p99", "p999")
)


def with_metric(result, key, factor):
    changed = Metric(value=result.value(key) * factor)
    return result.model_copy(update={"metrics": {**result.metrics, key: changed}})


def with_load(result, **changed):
    return result.model_copy(update={"load": result.load.model_copy(update=changed)})


def with_counts(result, **changed):
    """Returns a copy of the result in which `changed` replaces fields of the counts of writes."""
    counts = result.load.operations["write"].model_copy(update=changed)
    return with_load(result, operations={"write": counts})


def with_histogram(result, change):
    """Returns a copy of the result in which the buckets of the latency histogram of writes are
    replaced by `change(buckets)`."""
    return with_load(result, histograms={"write": change(result.load.histograms["write"])})


def shifted(buckets):
    """Returns the buckets (lowest time in ns, count) with all times multiplied by 1000."""
    return [(low_ns * 1000, count) for low_ns, count in buckets]


def with_client(result, **changed):
    first, *others = result.load.per_client
    return with_load(result, per_client=[first.model_copy(update=changed), *others])


def with_bytes(result, factor):
    """Returns a copy of the result in which every number of bytes is multiplied by `factor`: the
    throughput, and the bytes of the writes, of each client and of each second."""
    counts, load = result.load.operations["write"], result.load
    return with_load(
        with_metric(result, "throughput_bytes_per_s", factor),
        operations={"write": counts.model_copy(update={"bytes": counts.bytes * factor})},
        per_client=[with_bytes_of(one, factor) for one in load.per_client],
        seconds=[with_bytes_of(one, factor) for one in load.seconds],
    )


def with_bytes_of(part, factor):
    return part.model_copy(update={"bytes": part.bytes * factor})


EDITS = {
    "median of 0": (lambda one: with_metric(one, P50, 0), "metrics.latency_s_p50.write = 0: "),
    "p99 ten times": (lambda one: with_metric(one, P99, 10), "metrics.latency_s_p99.write = "),
    "p999 ten times": (lambda one: with_metric(one, P999, 10), "metrics.latency_s_p999.write = "),
    "p90 2 % more": (lambda one: with_metric(one, P90, 1.02), "metrics.latency_s_p90.write = "),
    "median above p99": (lambda one: with_metric(one, P50, 100), "metrics.latency_s_p50.write = "),
    "half the mean": (lambda one: with_metric(one, MEAN, 0.5), "metrics.latency_s_mean.write = "),
    "double rate": (lambda one: with_metric(one, "rate_per_s", 2), "metrics.rate_per_s = "),
    "negative rate": (lambda one: with_metric(one, "rate_per_s", -1), "rate_per_s = -"),
    "no number": (lambda one: with_metric(one, P99, math.nan), "metrics.latency_s_p99.write = nan"),
    "infinite": (
        lambda one: with_metric(one, P999, math.inf),
        "metrics.latency_s_p999.write = inf",
    ),
    "negative time": (
        lambda one: with_load(one, wall_s=-1.0),
        "load.wall_s = -1: must be at least",
    ),
    "infinite time": (
        lambda one: with_load(one, late_s=math.inf),
        "load.late_s = inf: must be fini",
    ),
    "one operation more": (
        lambda one: with_counts(one, count=one.load.operations["write"].count + 1),
        "rate_per_s = .*: contradicts|load.operations: the sum of count is .*, but that of load.",
    ),
    "no bytes": (lambda one: with_counts(one, bytes=0), "throughput_bytes_per_s = .*0 bytes in"),
    "half the bytes of a client": (
        lambda one: with_client(one, bytes=one.load.per_client[0].bytes // 2),
        "load.operations: the sum of bytes is .*, but that of load.per_client is ",
    ),
    "histogram of longer times": (
        lambda one: with_histogram(one, shifted),
        "metrics.latency_s_.*.write = .*: must be from .* to .*, as the histogram of write has",
    ),
    "other bytes everywhere": (lambda one: with_bytes(one, 2), "load.operations.write.bytes = "),
    "a bucket less": (
        lambda one: with_histogram(one, lambda buckets: buckets[1:]),
        "load.histograms.write: has .* times, but load.operations counts ",
    ),
    "descending buckets": (
        lambda one: with_histogram(one, lambda buckets: buckets[::-1]),
        "load.histograms.write: its buckets must ascend",
    ),
}


def test_every_recorded_result_loads():
    assert len(MEASURED) == 16
    assert [contradiction(one) for one in load_results(RUN)] == [""] * len(load_results(RUN))


@pytest.mark.parametrize("name", museum.honest())
def test_no_recording_of_the_repository_is_called_edited(name):
    assert {contradiction(one) for one in museum.runs(name)} == {""}


@pytest.mark.parametrize("kind", EDITS)
def test_each_edited_result_is_named(kind):
    edit, reason = EDITS[kind]
    for one in MEASURED:
        assert re.search(reason, contradiction(edit(one))), contradiction(edit(one))


SUMMARY = Summary(
    count=100,
    sum_s=1.0,
    mean_s=0.01,
    sd_s=0.01,
    min_s=0.001,
    p50_s=0.008,
    p90_s=0.02,
    p99_s=0.05,
    p999_s=0.06,
    max_s=0.06,
)
WRONG_SUMMARIES = {
    "min_s": (0.009, "min_s = 0.009: must be at most p50_s = 0.008"),
    "p50_s": (0.0199, "p50_s = 0.0199: contradicts 1 s in total"),
    "p99_s": (0.5, "p99_s = 0.5: must be at most p999_s = 0.06"),
    "mean_s": (0.02, "mean_s = 0.02: must be 0.01, 1 s / 100"),
    "count": (99, "count = 99: must be 100, the operations counted"),
}


def phase(summary):
    counts = {"read": OperationCounts(count=100, bytes=0)}
    return MeasuredPhase.model_construct(
        name="first", latency={"read": summary}, operations=counts, count=100, bytes=0
    )


@pytest.mark.parametrize("field", WRONG_SUMMARIES)
def test_times_of_a_phase_agree_with_each_other(field):
    value, reason = WRONG_SUMMARIES[field]
    assert list(of_phase(phase(SUMMARY))) == []
    found = list(of_phase(phase(SUMMARY.model_copy(update={field: value}))))
    assert f"load.phases.first.latency.read.{reason}" in found


def renewed(path):
    """Sets the median in a file of an earlier format to 0 and computes the checksum again."""
    document = json.loads(path.read_text())
    document["metrics"][P50]["value"] = 0.0
    if "sha256" in document:
        content = {k: v for k, v in document.items() if k not in ("format", "sha256")}
        document["sha256"] = result_file.checksum_of(content)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("stored_as", ["records", "format 1", "no checksum"])
def test_every_reader_refuses_an_edited_run_in_one_line(recorded_run, stored_as):
    edited = MEASURED[0]
    if stored_as == "records":
        store_only(recorded_run, [with_metric(edited, P50, 0), *MEASURED[1:]])
        (one,) = (recorded_run / "results").glob("*.jsonl")
    else:
        if stored_as == "format 1":
            as_format_1(recorded_run)
        one = recorded_run / "results" / result_file.name(key_of(edited))
        renewed(one)
    line = "metrics.latency_s_p50.write = 0: contradicts 20 operations"
    for words in (["check"], ["report"], ["compare", RUN]):
        command, *others = words
        answer = dfslab(command, recorded_run, *others)
        assert answer.returncode != 0, words
        (stated,) = [text for text in answer.stderr.splitlines() if P50 in text]
        assert line in stated
        assert one.name in stated
