"""Tests that imported results of other tools equal the figures of each tool's own summary, in SI
units."""

from __future__ import annotations

import json

import pytest
from dfslab.imports import as_results, tool_report
from dfslab.imports.results import fio_json
from support import tool_texts
from support.command import dfslab

MEBI, GIBI = 1 << 20, 1 << 30


@pytest.fixture
def read(tmp_path):
    """Provides a function that reads the output of a tool. That function returns (measurements,
    whole report). The measurements are a dictionary. The key of a measurement is a pair: the job,
    test or phase of the tool's run, and the number of the repetition."""

    def found(text: str):
        path = tmp_path / "given"
        path.write_text(text)
        report = tool_report.read(path)
        return {(one.part, one.repetition): one for one in report.measurements}, report

    return found


def test_fio_3_adds_up_concurrent_jobs_and_keeps_an_error(read):
    found, report = read(tool_texts.FIO_3)
    job = found["a", 0]
    assert (job.operation, job.clients, report.version) == ("read", 2, "3.33")
    assert job.rate_per_s == pytest.approx(12206.44898)
    assert job.throughput_bytes_per_s == 50_000_000
    assert job.latency_s == {"mean": pytest.approx(97.04e-6)}
    failed = found["b", 0]
    assert (failed.complete, failed.clients) == (False, 4)
    assert failed.latency_s == {"mean": 1.0, "p50": 0.9}


def test_fio_2_counts_microseconds_and_kibibytes(read):
    found, _ = read(tool_texts.FIO_2)
    job = found["seq", 0]
    assert job.throughput_bytes_per_s == 100 * MEBI
    assert job.latency_s == pytest.approx({"mean": 0.01, "p50": 0.0098, "p90": 0.012})
    assert job.clients == 1


def test_fio_s_calls_of_fsync_are_a_measurement_with_their_own_times(read):
    _, report = read(tool_texts.FIO_FSYNC)
    reads, writes, syncs = report.measurements
    assert [one.operation for one in report.measurements] == ["read", "write", "fsync"]
    assert syncs.rate_per_s == pytest.approx(125)
    assert syncs.latency_s == pytest.approx({"mean": 4e-3, "p50": 3e-3, "p99": 9e-3})
    assert fio_json.AT_THE_SAME_TIME in reads.notes
    assert writes.latency_s["mean"] == pytest.approx(6.6e-6)


def test_transfers_of_a_tool_are_not_counted_in_files_and_not_called_cached(tmp_path):
    path = tmp_path / "fio.json"
    path.write_text(tool_texts.FIO_FSYNC)
    made = dfslab("import", str(path), "--out", str(tmp_path))
    run = made.stdout.split()[-1]
    assert f"next: dfslab compare {run}" in made.stdout
    shown = dfslab("compare", run).stdout
    assert "1,000 reads/s" in shown
    assert as_results.UNKNOWN_CACHE in shown
    for wrong in ("files", "page cache)", "--cold", "dfslab advise"):
        assert wrong not in shown
    assert "`dfslab import FILE --on SCENARIO`" in " ".join(shown.split())


def test_several_files_become_repetitions_so_that_noise_is_known(tmp_path):
    paths = [tmp_path / "1.json", tmp_path / "2.json"]
    for path in paths:
        path.write_text(tool_texts.FIO_FSYNC)
    done = dfslab("import", *map(str, paths), "--out", str(tmp_path), "--json")
    repetitions = [one["repetition"] for one in json.loads(done.stdout)]
    assert (done.returncode, repetitions) == (0, [0, 0, 0, 1, 1, 1])
    paths[1].write_text(tool_texts.IOR_3_0)
    done = dfslab("import", *map(str, paths), "--out", str(tmp_path))
    assert done.returncode == 2
    assert "FILE = 'IOR, fio': must be results of one tool" in done.stderr


def test_comparing_a_file_of_results_names_the_command_that_imports_it(tmp_path):
    path = tmp_path / "fio.json"
    path.write_text(tool_texts.FIO_FSYNC)
    assert f"`dfslab import {path}`" in dfslab("compare", str(path)).stderr


def test_fio_s_sum_of_clients_is_not_counted_twice(read):
    found, _ = read(tool_texts.FIO_CLIENTS)
    assert [one.rate_per_s for one in found.values()] == [20]


def test_ior_s_repetitions_are_mebibytes(read):
    found, report = read(tool_texts.IOR_3_0)
    assert found["write", 0].throughput_bytes_per_s == 512 * MEBI
    assert (found["read", 1].rate_per_s, found["read", 1].clients) == (1024, 4)
    assert (report.host, report.version) == ("node1", "3.0.1")
    assert report.command == "ior -a POSIX -t 1m -b 16m -i 2"
    assert len(found) == 4
    found, report = read(tool_texts.IOR_4)
    assert (found["write", 0].rate_per_s, found["write", 0].clients) == (2231.5, 2)
    found, _ = read(tool_texts.IOR_2)
    assert (found["write", 0].rate_per_s, found["write", 0].clients) == (100, None)


def test_ior_s_json_is_read_like_its_text(read):
    found, report = read(tool_texts.IOR_JSON_3)
    assert (found["write", 0].rate_per_s, found["read", 0].rate_per_s) == (400.5, 800)
    assert (found["write", 0].throughput_bytes_per_s, report.host) == (100 * MEBI, "n")
    found, _ = read(tool_texts.IOR_JSON_NESTED)
    assert found["write", 1].throughput_bytes_per_s == 2 * MEBI
    found, _ = read(tool_texts.IOR_JSON_TWO)
    assert found["test 1, read", 0].rate_per_s is None


def test_mdtest_s_means_are_rates_and_its_times_are_not(read):
    for text in (tool_texts.MDTEST_1, tool_texts.MDTEST_3):
        found, _ = read(text)
        assert found["file creation", 0].rate_per_s == 11111.111
        assert found["file creation", 0].clients == 4
        assert ("file read", 0) not in found
    found, report = read(tool_texts.MDTEST_4)
    assert found["file creation", 0].rate_per_s == 22222.25
    assert (found["file removal", 0].operation, report.version) == ("delete", "4.0.0")


def test_io500_s_gigabytes_are_gibibytes_and_an_invalid_phase_is_incomplete(read):
    found, _ = read(tool_texts.IO500_NOW)
    assert found["ior-easy-write", 0].throughput_bytes_per_s == 3.25 * GIBI
    assert found["mdtest-easy-write", 0].rate_per_s == 12500
    assert found["mdtest-easy-write", 0].operation == "create"
    assert [part for (part, _), one in found.items() if not one.complete] == ["ior-hard-write"]
    assert ("timestamp", 0) not in found
    found, _ = read(tool_texts.IO500_SCRIPT)
    assert found["ior-easy-write", 0].throughput_bytes_per_s == 2.5 * GIBI
    found, _ = read(tool_texts.IO500_OTHER)
    assert not any(one.complete for one in found.values())


def test_the_command_writes_a_run_that_is_exported_again(tmp_path):
    path = tmp_path / "ior.txt"
    path.write_text(tool_texts.IOR_3_0)
    done = dfslab("import", str(path), "--out", str(tmp_path / "runs"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "write: 512 operations/s, 537 MB/s" in done.stdout
    run = next(tmp_path.glob("runs/*/latest"))
    table = dfslab("report", str(run), "--as", "csv").stdout
    assert "536870912.0" in table
    assert "IOR 3.0.1" in table
    as_fio = dfslab("report", str(run), "--as", "fio")
    assert (as_fio.returncode, as_fio.stdout) == (1, "")
    assert "has jobs of a load generator, and the run has none" in as_fio.stderr
    shown = dfslab("import", str(path), "--out", str(tmp_path / "runs"), "--json")
    assert len(json.loads(shown.stdout)) == 4


def test_an_incomplete_result_ends_with_1_and_an_unknown_file_with_2(tmp_path):
    path = tmp_path / "given"
    path.write_text(tool_texts.FIO_3)
    assert dfslab("import", str(path), "--out", str(tmp_path)).returncode == 1
    path.write_text("nothing known\n")
    done = dfslab("import", path.name, "--out", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("dfslab: FILE = 'given': is no result of a known tool (")
    assert done.stderr.count("\n") == 1


def test_the_help_has_an_example():
    assert "dfslab import fio.json" in dfslab("import", "-h").stdout
