"""Tests that results of iozone, elbencho, TestDFSIO, warp and smallfile are imported in SI
units."""

from __future__ import annotations

import pytest
from dfslab.imports import tool_report
from dfslab.spec.input_error import InputError
from support import tool_texts_more as texts

MEBI, KIBI = 1 << 20, 1 << 10


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


def test_iozone_s_columns_are_those_of_the_tests_that_ran(read):
    found = read(texts.IOZONE_TABLE)
    row = found["random write, 4096 KiB by 64 KiB", 0]
    assert (row.throughput_bytes_per_s, row.operation) == (40000 * KIBI, "write")
    assert row.rate_per_s == 625
    assert [one.throughput_bytes_per_s for one in read(texts.IOZONE_ALL).values()] == [
        at * KIBI for at in range(1, 14)
    ]
    row = "            4096      64   100000   200000                     30000     40000\n"
    found = read(texts.IOZONE_TABLE.replace(row, row + row.replace("  64 ", " 128 ")))
    assert len(found) == 8
    assert found["write, 4096 KiB by 128 KiB", 0].throughput_bytes_per_s == 100000 * KIBI
    found = read(texts.IOZONE_THREADS)
    assert found["initial writers", 0].throughput_bytes_per_s == 200 * MEBI + 512
    assert found["random readers", 0].clients == 4
    with pytest.raises(InputError, match="requests 2 tests"):
        read(texts.IOZONE_TABLE.replace("-i 0 -i 2", "-i 0"))
    with pytest.raises(InputError, match="its unit is 'operations per second'"):
        read(texts.IOZONE_TABLE.replace("kBytes/sec", "operations per second"))


def test_elbencho_s_last_figures_count(read):
    assert read(texts.ELBENCHO_1)["write", 0].throughput_bytes_per_s == 10 * MEBI
    found = read(texts.ELBENCHO_2)
    assert (found["x, write", 0].rate_per_s, found["x, write", 0].clients) == (400, 16)
    assert found["x, write", 0].latency_s == {"mean": pytest.approx(0.02)}
    assert (found["x, rmfiles", 0].rate_per_s, found["x, rmfiles", 0].operation) == (70, "delete")
    assert read(texts.ELBENCHO_3)["x, write", 1].rate_per_s == 500


@pytest.mark.parametrize("text", [texts.DFSIO_2, texts.DFSIO_LOG, texts.DFSIO_3])
def test_testdfsio_s_throughput_is_that_of_a_task(read, text):
    one = read(text)["write", 0]
    assert (one.throughput_bytes_per_s, one.clients) == (25.5 * MEBI, 10)
    assert "mean of one task" in one.notes[0]
    assert "128 MiB/s" in one.notes[1]


def test_warp_s_units_and_quantiles(read):
    found = read(texts.WARP_0)
    assert found["PUT", 0].throughput_bytes_per_s == 60.5 * MEBI
    assert found["GET", 0].throughput_bytes_per_s == 1536 * MEBI
    found = read(texts.WARP_1)
    assert found["GET", 0].latency_s == pytest.approx(
        {"mean": 0.1137, "p50": 0.11, "p90": 0.1505, "p99": 1.2}
    )
    assert (found["STAT", 0].rate_per_s, found["STAT", 0].throughput_bytes_per_s) == (500.25, None)
    assert not read(texts.WARP_ERRORS)["DELETE", 0].complete


def test_smallfile_s_unfinished_run_is_incomplete(read):
    one = read(texts.SMALLFILE_3)["create", 0]
    assert (one.rate_per_s, one.throughput_bytes_per_s, one.clients) == (1500.5, 93.75 * MEBI, 4)
    assert read(texts.SMALLFILE_NO_BYTES)["stat", 0].clients == 8
    assert not read(texts.SMALLFILE_CUT)["read", 0].complete
