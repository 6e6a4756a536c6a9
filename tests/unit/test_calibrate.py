"""Tests of the calibration of a machine. The figures are plausible, the intervals are correct, and
a calibration leaves no files."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys

import pytest
from dfslab.instruments.calibration import calibrate, disk_probe, probe, sustained_disk
from dfslab.instruments.calibration.quantities import quantity
from dfslab.spec.input_error import InputError
from dfslab.spec.units import parse
from support.clock import ManualClock


def test_the_interval_is_students():
    found = quantity("x", "s", [1.0, 2.0, 3.0])
    # The sample of three values has a standard deviation of 1. 2.91999 is the 95 % quantile of
    # Student's t distribution with 2 degrees of freedom.
    assert found.high - found.mean == pytest.approx(2.91999 / math.sqrt(3), rel=1e-4)
    assert (found.mean, found.low) == (2.0, pytest.approx(2 - 2.91999 / math.sqrt(3), rel=1e-4))


def test_memory_and_calls_are_measured_not_guessed():
    assert probe.memory_copy() > 0
    assert probe.system_call() >= 1e-9


class Ticking(ManualClock):
    """A clock that gives measurements the listed durations, in seconds and in the listed order. The
    measuring code reads the clock twice for each measurement: at the start and at the end."""

    def __init__(self, *durations_s: float) -> None:
        super().__init__()
        self._left = [step for took_s in durations_s for step in (0.0, took_s)]

    def monotonic_s(self) -> float:
        self.advance(self._left.pop(0))
        return super().monotonic_s()


def test_figures_are_what_the_clock_says(tmp_path):
    assert probe.memory_copy(8 << 20, Ticking(0.5)) == pytest.approx(2 * (8 << 20))
    calls = probe.CALLS
    assert probe.system_call(Ticking(3e-6 * calls, 1e-6 * calls)) == pytest.approx(2e-6)
    # The probe subtracts the time of an empty loop from the time of a loop with the call. Here the
    # empty loop took longer (3 us for each call) than the loop with the call (1 us), as if it had
    # been disturbed. The difference is negative, so the result is the lower limit of 1 ns.
    assert probe.system_call(Ticking(1e-6 * calls, 3e-6 * calls)) == 1e-9
    # Reading 16 MiB in calls of 64 KiB takes 256 calls of 1 ms each. These 0.256 s are subtracted
    # from the measured 1.256 s.
    clock = Ticking(2e-3 * calls, 1e-3 * calls, 1.256)
    rate, call_s = probe.kept_reads(tmp_path / "kept", 16 << 20, clock)
    assert (rate, call_s) == (pytest.approx(16 << 20), pytest.approx(1e-3))


def test_kept_pages_are_read_and_the_file_is_gone(tmp_path):
    rate, call_s = probe.kept_reads(tmp_path / "kept", 20 << 20)
    assert rate > 0
    assert call_s >= 1e-9
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_already_is_not_touched(tmp_path):
    (tmp_path / "mine1").write_text("mine")
    with pytest.raises(FileExistsError):
        probe.kept_reads(tmp_path / "mine", 16 << 20)
    assert [path.name for path in tmp_path.iterdir()] == ["mine1"]
    assert (tmp_path / "mine1").read_text() == "mine"


def test_a_host_with_little_memory_copies_less(tmp_path):
    words = [
        sys.executable,
        "-P",
        "-m",
        "dfslab.instruments.calibration.probe",
        str(tmp_path / "kept"),
    ]
    found = subprocess.run([*words, str(3 << 20)], capture_output=True, text=True, check=True)
    assert set(json.loads(found.stdout)) == {
        "memory_copy_rate",
        "memory_read_rate",
        "memory_write_rate",
        "system_call",
        "socket_message",
        "socket_byte",
        "kept_read_rate",
        "kept_read_call",
    }
    assert list(tmp_path.iterdir()) == []


def test_a_whole_profile_reads_back_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(calibrate.hardware, "DISK_S", 0.2)
    monkeypatch.setattr(calibrate.hardware, "DISK_SKIP_S", 0.02)
    monkeypatch.setattr(calibrate.hardware, "STREAM_S", 0.2)
    monkeypatch.setattr(calibrate.hardware, "STREAM_SKIP_S", 0.05)
    monkeypatch.setattr(disk_probe, "PAUSE_S", 0.1)
    monkeypatch.setattr(sustained_disk, "SKIPPED_S", 0.01)
    monkeypatch.setattr(sustained_disk, "MEASURED_S", 0.05)
    found = calibrate.measure(tmp_path, 2)
    assert list(tmp_path.iterdir()) == []
    by_name = {one.name: one for one in found}
    assert all(one.low <= one.mean <= one.high for one in found)
    # Two quantities may be 0: a disk may allow no burst, and the cost of a byte may be too small to
    # be measured.
    assert {one.name for one in found if one.mean == 0} <= {"disk_burst", "socket_byte"}
    # A round trip takes several system calls.
    assert by_name["loopback_round_trip"].mean > 2 * by_name["system_call"].mean
    lines = calibrate.toml(found).splitlines()
    (rate,) = [line.split('"')[1] for line in lines if line.startswith("read_rate")][:1]
    assert parse(rate, "B/s") == pytest.approx(
        statistics.median(by_name["direct_read_capacity"].values), rel=1e-3
    )


@pytest.mark.parametrize("repeats", [0, 1, 1001])
def test_an_interval_needs_two(repeats, tmp_path):
    with pytest.raises(InputError, match="between 2 and 1000"):
        calibrate.measure(tmp_path, repeats)


def test_no_directory(tmp_path):
    with pytest.raises(InputError, match="is no directory"):
        calibrate.measure(tmp_path / "absent")
