"""Tests of the measured calls of a local file system, and of predictions from a profile."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from dfslab.instruments.calibration import calibrate, file_calls, size_line, sustained_disk
from dfslab.instruments.calibration.quantities import quantity
from dfslab.models.tree.ignored import ignored
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.prediction import Situation
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.local_files import LocalFiles
from support.predicted import situation_of

# Seconds that a file call continues after an interrupt has arrived during this call.
CALL_S = 0.3
MEASURED = {
    "create_time": "40 us",
    "close_time": "1 us",
    "creates": "10000 /s",
    "commit_time": "2 ms",
    "commit_rate": "100 MB/s",
    "commits": "900 /s",
    "commits_rate": "150 MB/s",
    "read_time": "200 us",
    "read_rate": "400 MB/s",
    "write_time": "200 us",
    "write_rate": "300 MB/s",
    "requests": "6000 /s",
    "request_rate": "500 GB/s",
}


def rate(files: dict[str, str], clients: int, **workload: object) -> float:
    """Returns the predicted operations per second of a local directory. `files` has values of the
    directory's profile, and `workload` has keys of the workload."""
    situation, constants = described(files, clients, **workload)
    return situation.predict(constants).rate_per_s


def described(
    files: dict[str, str], clients: int, **workload: object
) -> tuple[Situation, dict[str, float]]:
    """Returns a local directory with a profile, and the constants of its description."""
    disk = {"read_rate": "400 MB/s", "write_rate": "250 MB/s", "latency": "50 us"}
    node = {"name": "machine", "disk": disk, "local_files": files, "cores": 2}
    found = build(
        Scenario,
        {
            "name": "local-files",
            "deployment": {"node": [{**node, "roles": {"client": 1, "storage": 1}}]},
            "file_system": {"name": "local"},
            "workload": {"clients": clients, "operations_per_client": 100, **workload},
        },
        "",
    )
    situation = Situation(found)
    return situation, dict(situation.constants)


SMALL = {"name": "sequential_read", "file_size": "4 KiB", "transfer_size": "4 KiB"}


def test_one_stream_of_direct_reads_takes_the_measured_time():
    one = rate(MEASURED, 1, cache="direct", **SMALL)
    assert one == pytest.approx(1 / (200e-6 + 4096 / 4e8), rel=0.06)


def test_no_request_of_one_stream_takes_less_than_a_small_one():
    """A disk that serves 5,000 requests per second serves no more of 64 KiB, although it moves the
    bytes of such a request in less time."""
    limited = {**MEASURED, "read_time": "10 us", "small_read_time": "200 us"}
    middle = {**SMALL, "file_size": "64 KiB", "transfer_size": "64 KiB"}
    assert rate(limited, 1, cache="direct", **middle) == pytest.approx(5_000, rel=0.06)
    large = {**SMALL, "file_size": "256 KiB", "transfer_size": "256 KiB"}
    assert rate(limited, 1, cache="direct", **large) == pytest.approx(
        1 / (10e-6 + (256 << 10) / 4e8), rel=0.06
    )


def test_writing_over_cached_pages_has_its_own_measured_time():
    """A random write changes existing files, so it has the measured time of such a write. A
    sequential write makes new files, so it has none of it."""
    calls = {"name": "random_write", "file_size": "16 MiB", "transfer_size": "64 KiB"}
    new = {**MEASURED, "write_call_time": "3 us", "cached_write_rate": "4 GB/s"}
    over = {**new, "overwrite_call_time": "1 us", "cached_overwrite_rate": "8 GB/s"}
    transfer_s = 1e-6 + (64 << 10) / 8e9
    assert rate(over, 1, **calls) == pytest.approx(1 / (256 * transfer_s), rel=0.05)
    assert rate(new, 1, **calls) < 0.6 * rate(over, 1, **calls)
    sequential = {**calls, "name": "sequential_write"}
    assert rate(over, 1, **sequential) == rate(new, 1, **sequential)


def test_many_streams_of_direct_reads_are_limited_by_the_requests_of_the_disk():
    many = rate(MEASURED, 64, cache="direct", **SMALL)
    assert 5_500 < many <= 6_000
    assert rate({}, 64, cache="direct", **SMALL) > 20_000


def test_a_wait_for_a_direct_read_is_a_limit_of_the_disk():
    """For direct reads by a single stream, the prediction names the disk as the limit. The disk is
    busy for only a small part of the time of a read. During the other part, the read waits for the
    answer of the disk. A faster disk would shorten this wait."""
    limits = limits_of(*described(MEASURED, 1, cache="direct", **SMALL))
    assert limits[0].name == "machine.disk"
    assert limits[0].share > 0.9


def test_large_direct_reads_are_limited_by_the_bytes_of_the_disk():
    large = {"name": "sequential_read", "file_size": "8 MiB", "transfer_size": "1 MiB"}
    many = rate(MEASURED, 16, cache="direct", **large)
    assert many == pytest.approx(400e6 / 2**23, rel=0.05)


def test_creates_of_one_stream_cost_processor_time_and_many_wait_for_locks():
    create = {"name": "metadata", "operation": "create"}
    assert rate(MEASURED, 1, **create) == pytest.approx(1 / 41e-6, rel=0.01)
    many = rate(MEASURED, 8, **create)
    assert 8_000 < many <= 10_000
    # If the profile has no rate of creates for several streams, the prediction assumes two creates
    # at a time, one on each core.
    alone = {key: value for key, value in MEASURED.items() if key != "creates"}
    assert rate(alone, 8, **create) > 30_000


def test_one_commit_of_the_journal_serves_several_streams():
    write = {"name": "sequential_write", "file_size": "4 KiB", "transfer_size": "4 KiB"}
    one = rate(MEASURED, 1, fsync=True, **write)
    assert one == pytest.approx(1 / (2e-3 + 41e-6 + 4096 / 1e8), rel=0.05)
    many = rate(MEASURED, 32, fsync=True, **write)
    assert 800 < many <= 900


def test_without_a_profile_the_constants_are_those_of_the_description():
    assert rate({}, 4, **SMALL) == rate({"rename_time": "1 ms"}, 4, **SMALL)


def test_calls_are_measured_and_leave_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(file_calls, "DATA_BYTES", 4 << 20)
    monkeypatch.setattr(file_calls, "FILES", 20)
    monkeypatch.setattr(file_calls, "COMMITS", 2)
    found = file_calls.everything(tmp_path)
    assert set(found) == set(file_calls.UNITS)
    assert min(found.values()) > 0
    assert list(tmp_path.iterdir()) == []


def test_requests_in_flight_are_counted_together(tmp_path, monkeypatch):
    monkeypatch.setattr(sustained_disk, "SKIPPED_S", 0.02)
    monkeypatch.setattr(sustained_disk, "MEASURED_S", 0.1)
    monkeypatch.setattr(sustained_disk, "FILE_BYTES", 8 << 20)
    found = sustained_disk.everything(tmp_path / "data", random.Random(1))
    assert set(found) == set(sustained_disk.UNITS)
    assert min(found.values()) > 0


def test_a_rate_limiter_that_serves_in_slices_is_measured_at_its_rate():
    """The rate limiter serves requests in slices: every 0.1 s, 600 requests end at the same moment.
    The measured time begins and ends at such a moment. The measured rate is therefore always 6,000
    per second."""
    slices = [at / 10 for at in range(2, 7)]
    ended_s = [time_s for time_s in slices[:-1] for _ in range(600)] + [slices[-1]]
    assert sustained_disk.seconds_between(ended_s) == pytest.approx(1 / 6000)
    assert sustained_disk.seconds_between([1.0]) == sustained_disk.MEASURED_S
    # Four requests are in flight and end together every 0.3 s, so each request counts for 0.075 s.
    batches = [0.3 * (place // 4) for place in range(12)]
    assert sustained_disk.seconds_between(batches, 4) == pytest.approx(0.075)


def test_every_measured_quantity_has_a_key_of_the_profile():
    units = {**file_calls.UNITS, **sustained_disk.UNITS}
    assert set(calibrate.OF_LOCAL_FILES) == set(LocalFiles.model_fields)
    assert set(calibrate.OF_LOCAL_FILES.values()) <= set(units)


def test_other_file_systems_report_that_they_ignore_the_table():
    of_nfs = situation_of("nfs", "sequential_read", node={"local_files": MEASURED})
    found = ignored(of_nfs, of_nfs.constants)
    assert "deployment.node.client.local_files" in found
    of_local = situation_of("local", "sequential_read", node={"local_files": MEASURED})
    assert "deployment.node.node.local_files" not in ignored(of_local, of_local.constants)


def test_a_rate_that_was_not_determined_is_that_of_the_disk():
    """If a profile lacks the rate of a file operation, the rate of the disk is used. The function
    `rate` declares a disk that reads 400 MB/s and writes 250 MB/s."""
    write = {"name": "sequential_write", "file_size": "1 MiB", "transfer_size": "1 MiB"}
    alone = {key: value for key, value in MEASURED.items() if key != "commit_rate"}
    of_disk = {**MEASURED, "commit_rate": "250 MB/s"}
    assert rate(alone, 1, fsync=True, **write) == rate(of_disk, 1, fsync=True, **write)
    assert rate(alone, 1, fsync=True, **write) > rate(MEASURED, 1, fsync=True, **write)
    # If the profile lacks the rates of requests, the rates of the disk are used. Without this rule,
    # the prediction would assume a rate of 1 byte per second.
    single = {"requests": "6000 /s"}
    of_disk = {
        **single,
        "request_rate": "400 MB/s",
        "read_rate": "400 MB/s",
        "write_rate": "250 MB/s",
    }
    assert rate(single, 8, cache="direct", **SMALL) == rate(of_disk, 8, cache="direct", **SMALL)


def test_bytes_whose_time_was_not_determined_take_no_time_beyond_the_disks_rate():
    """Requests of 64 KiB take no longer than small ones behind a limit of 6,000 requests per
    second, so the profile has no rate of their bytes."""
    undetermined = {key: value for key, value in MEASURED.items() if key != "request_rate"}
    middle = {**SMALL, "file_size": "64 KiB", "transfer_size": "64 KiB"}
    assert rate(undetermined, 64, cache="direct", **middle) == pytest.approx(6_000, rel=0.06)
    large = {**SMALL, "file_size": "1 MiB", "transfer_size": "1 MiB"}
    assert rate(undetermined, 64, cache="direct", **large) == pytest.approx(
        4e8 / (1 << 20), rel=0.06
    )


def test_noise_that_hides_the_slope_of_a_line_is_noticed():
    line = size_line.line_through(4096, 2e-3, 262144, 4.6e-3)
    assert line.rate == pytest.approx(258048 / 2.6e-3)
    assert not size_line.is_at_bound(line.rate, "B/s")
    # The fsync of more bytes took less time than the fsync of fewer bytes, so the rate is at its
    # upper bound.
    flat = size_line.line_through(4096, 2e-3, 262144, 1.9e-3)
    assert size_line.is_at_bound(flat.rate, "B/s")
    # A straight line through the two measured (size, time) pairs reaches 0 s at a size above zero.
    # The time for a request of size zero, the fixed time, is therefore at its lower bound.
    steep = size_line.line_through(4096, 1e-6, 262144, 1.0)
    assert size_line.is_at_bound(1 / steep.fixed_s, "1/s")
    assert not size_line.is_at_bound(1e13, "s")


def test_the_rates_of_lines_are_quantities_of_the_calibration():
    units = {**file_calls.UNITS, **sustained_disk.UNITS}
    assert units.keys() >= size_line.RECIPROCALS
    assert {units[name] for name in size_line.RECIPROCALS} == {"B/s", "1/s"}


def test_a_rate_that_is_not_determined_is_no_key_of_the_profile():
    def toml(name: str, unit: str, *values: float) -> list[str]:
        found = quantity(name, unit, values)
        return calibrate.local_lines({name: found})[1:]

    (line,) = toml("file_commit_rate", "B/s", 1e8, 2e8, 1.5e8)
    assert line.startswith('commit_rate = "150 MB/s"')
    (line,) = toml("file_commit_rate", "B/s", 1e8, 1e12)
    assert line.startswith("# commit_rate is not determined: the larger requests took no longer")
    assert "--repeats 8 on a quiet machine would settle it" in line
    # In all three repetitions, the rate is at its upper bound (1e12). A rate is at this bound if
    # the larger request took no longer than the smaller request. Therefore the rate is not
    # determined.
    (line,) = toml("file_commit_rate", "B/s", 1e12, 1e12, 1e12)
    assert line.startswith("# commit_rate is not determined")
    (line,) = toml("file_commits", "1/s", 10.0, 2e4)
    assert line.startswith("# commits is not determined: 90% between 0")
    # The two repetitions of each following quantity differ. The values still count as determined,
    # because they are measured directly and not derived from a line.
    (line,) = toml("file_creates", "1/s", 10.0, 2e4)
    assert line.startswith("creates = ")
    (line,) = toml("file_commit", "s", 1e-3, 9e-3)
    assert line.startswith("commit_time = ")
    document = quantity("file_commit_rate", "B/s", (1e8, 1e12)).document()
    assert (document.mean, document.low, document.high) == (None, None, None)
    assert document.values == [1e8, 1e12]
    assert calibrate.local_files({"file_commit_rate": 1e12, "file_commits": 900.0}).commit_rate == 0


def test_an_interrupted_probe_of_calls_leaves_no_file(tmp_path, monkeypatch):
    """After an interrupt, the folder of the probe is removed only when the threads of the probe
    have ended. Otherwise a thread could create a file in the folder after the removal."""
    fsync, calls, ended = os.fsync, itertools.count(), []

    def interrupting(file: int) -> None:
        fsync(file)
        if next(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(CALL_S)
            ended.append(file)

    def probe() -> None:
        with TemporaryDirectory(dir=tmp_path) as made:
            try:
                file_calls.commits(Path(made))
            finally:
                assert len(ended) == 1, "the call in progress has ended"

    monkeypatch.setattr(os, "fsync", interrupting)
    with pytest.raises(KeyboardInterrupt):
        probe()
    assert list(tmp_path.iterdir()) == []
