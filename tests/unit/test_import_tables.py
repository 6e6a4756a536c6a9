"""Tests that results of COSBench and darshan-parser are imported in SI units."""

from __future__ import annotations

import pytest
from dfslab.imports import tool_report
from support import tool_texts_tables as texts

MEBI = 1 << 20


@pytest.fixture
def read(tmp_path):
    """Provides a function that reads the output of a tool. That function returns a dictionary of
    measurements. The key of a measurement is a pair: the job, test or phase of the tool's run, and
    the number of the repetition."""

    def found(text: str):
        path = tmp_path / "given"
        path.write_text(text)
        return {(one.part, one.repetition): one for one in tool_report.read(path).measurements}

    return found


def test_cosbench_counts_milliseconds_and_bytes(read):
    found = read(texts.COSBENCH)
    one = found["s0-main, read", 0]
    assert (one.rate_per_s, one.throughput_bytes_per_s) == (160.25, 10256000)
    assert one.latency_s == pytest.approx({"mean": 0.0255, "p90": 0.04, "p99": 0.09})
    failed = found["s0-main, write", 0]
    assert (failed.complete, failed.latency_s) == (False, {"mean": 0.1})
    assert len(found) == 2
    assert read(texts.COSBENCH_OLD)["init, init", 0].operation == "mkdir"
    assert read(texts.COSBENCH_TWICE)["main, read", 1].rate_per_s == 30


def test_darshan_s_rate_is_of_the_slowest_process(read):
    found = read(texts.DARSHAN_PERF)
    one = found["POSIX rate", 0]
    assert (one.throughput_bytes_per_s, one.clients, len(found)) == (64 * MEBI, 4, 1)


def test_darshan_s_mean_times_are_of_all_calls(read):
    found = read(texts.DARSHAN_TOTAL)
    assert found["POSIX read", 0].latency_s == {"mean": 0.0025}
    assert found["STDIO write", 0].latency_s == {"mean": 0.05}
    assert ("POSIX write", 0) not in found
    assert read(texts.DARSHAN_BOTH)["POSIX write", 0].latency_s == {"mean": 0.5}
