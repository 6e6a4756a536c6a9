"""Tests of the probes of a calibration. The probes measure simulated hardware with known
properties: a disk that accepts a burst, clocks with given readings, and a stream that uses the
whole bandwidth of a network path."""

from __future__ import annotations

import random
import threading

import pytest
from dfslab.instruments.calibration import (
    calibrate,
    dirty_limits,
    disk_probe,
    network_probe,
    processor_probe,
)
from dfslab.instruments.calibration.quantities import HardwareProbe, quantity, repeated
from dfslab.method import RunFailed
from dfslab.testbeds.hosts import hardware
from support.clock import ManualClock


class TokenBucket:
    """A disk to which a probe writes. The disk accepts `burst_bytes` without a wait, and all
    further bytes at `rate` bytes per second."""

    def __init__(self, clock: ManualClock, rate: float, burst_bytes: float) -> None:
        self._clock, self._rate, self._credit = clock, rate, burst_bytes

    def write(self, size_bytes: int) -> int:
        """Writes `size_bytes`: advances the clock by the time that the disk needs. Returns
        `size_bytes`."""
        used = min(self._credit, size_bytes)
        self._credit -= used
        self._clock.advance(1e-4 + (size_bytes - used) / self._rate)
        return size_bytes


@pytest.mark.parametrize("burst_bytes", [0, 8 << 20])
def test_a_burst_is_told_apart_from_the_rate(tmp_path, monkeypatch, burst_bytes):
    clock = ManualClock()
    bucket = TokenBucket(clock, 40e6, burst_bytes)
    monkeypatch.setattr(hardware.time, "monotonic", clock.monotonic_s)
    monkeypatch.setattr(hardware.os, "pwrite", lambda file, data, at: bucket.write(len(data)))
    found = disk_probe.throttle(tmp_path / "data", clock)
    # A request of 256 KiB takes 0.1 ms in addition to the time of its bytes, which lowers the rate
    # by 1.5 %.
    assert found.rate == pytest.approx(40e6, rel=0.02)
    assert found.burst_bytes == pytest.approx(burst_bytes, abs=600_000)


def test_reads_in_flight_follow_littles_law(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(1 << 20))

    class Counting(ManualClock):
        """A clock whose time advances by 2 s before each reading. A quarter of this time is
        processor time."""

        def monotonic_s(self) -> float:
            self.advance(2.0)
            return super().monotonic_s()

        def processor_s(self) -> float:
            return super().monotonic_s() / 4

    found = disk_probe.in_flight(path, 4, random.Random(1), Counting())
    assert found.read_s == pytest.approx(4 * 2.0 / disk_probe.READS)
    assert found.processor_share == pytest.approx(0.25)


def test_a_socket_costs_a_message_and_its_bytes():
    class Counting(ManualClock):
        """A clock with which the first measurement takes 0.1 s of processor time, and the second
        0.5 s."""

        steps = iter([0.0, 0.1, 0.0, 0.5])

        def processor_s(self) -> float:
            self.advance(next(self.steps))
            return super().monotonic_s()

    cost = processor_probe.socket_cost(100, Counting())
    assert cost.message_s == pytest.approx(1e-3)
    assert cost.byte_s == pytest.approx(4e-3 / (processor_probe.LARGE_BYTES - 1))


def test_a_stream_runs_while_round_trips_are_measured(monkeypatch):
    running = []

    def round_trip(source, sink):
        running.append(set(threading.enumerate()) - before)
        return 1e-3

    before = set(threading.enumerate())
    monkeypatch.setattr(hardware, "round_trip", round_trip)
    here = calibrate.ThisMachine()
    assert network_probe.loaded_round_trip(here, here) == 1e-3
    (started,) = running
    assert len(started) == 2, "one thread sends and one receives"
    assert not any(thread.is_alive() for thread in started)


@pytest.mark.parametrize("function", ["stream", "loaded_round_trip"])
def test_a_stream_that_fails_is_no_measurement(function, monkeypatch):
    """If the stream of data fails, the measurement raises an error. Otherwise two results would be
    wrong. A round trip without load would count as a round trip under load. The time after the end
    of the stream would lower the measured rate."""

    monkeypatch.setattr(hardware, "send_zeros", lambda connection: None)
    here = calibrate.ThisMachine()
    measured = hardware.stream if function == "stream" else network_probe.loaded_round_trip
    with pytest.raises(ConnectionError, match="sender ended the stream"):
        measured(here, here)


def test_an_error_of_the_sender_is_reported(monkeypatch):
    def failing(connection):
        raise PermissionError("not allowed to send")

    monkeypatch.setattr(hardware, "send_zeros", failing)
    here = calibrate.ThisMachine()
    with pytest.raises(PermissionError, match="not allowed to send"):
        network_probe.loaded_round_trip(here, here)


def test_a_sink_that_cannot_be_reached_fails():
    here, nowhere = calibrate.ThisMachine(), calibrate.ThisMachine("192.0.2.1")
    with pytest.raises(OSError, match="Cannot assign requested address"):
        network_probe.loaded_round_trip(here, nowhere)


def test_a_real_loaded_round_trip_is_measured():
    here = calibrate.ThisMachine()
    assert network_probe.loaded_round_trip(here, here) > 0


@pytest.mark.parametrize(
    ("settings", "background", "limit"),
    [
        ({"background_bytes": 0, "background_ratio": 10, "bytes": 0, "ratio": 20}, 100, 200),
        ({"background_bytes": 5, "background_ratio": 0, "bytes": 7, "ratio": 0}, 5, 7),
        ({"background_bytes": 9, "background_ratio": 0, "bytes": 8, "ratio": 0}, 4, 8),
    ],
)
def test_limits_of_dirty_pages_are_read(tmp_path, settings, background, limit):
    for name, value in settings.items():
        (tmp_path / f"dirty_{name}").write_text(f"{value}\n")
    memory = tmp_path / "meminfo"
    memory.write_text("MemTotal: 9 kB\nMemAvailable: 1 kB\n")
    found = dirty_limits.dirty_limits(tmp_path, memory)
    share = 1024 / 1000 if settings["ratio"] else 1
    assert found.background_bytes == int(background * share)
    assert found.limit_bytes == int(limit * share)


def test_the_largest_window_is_the_third_figure(tmp_path):
    (tmp_path / "wmem").write_text("4096\t16384\t6291456\n")
    assert network_probe.window_bytes(tmp_path / "wmem") == 6291456


def test_a_probe_of_two_quantities_gives_two_intervals():
    values = iter([{"a": 1.0, "b": 10.0}, {"a": 3.0, "b": 10.0}])
    both = repeated([HardwareProbe({"a": "s", "b": "B/s"}, lambda: next(values))], 2, print, "here")
    assert [(one.name, one.unit, one.mean) for one in both] == [("a", "s", 2.0), ("b", "B/s", 10.0)]
    assert both[1].low == both[1].high == 10.0


def test_a_refused_probe_names_the_quantity():
    def refused():
        raise OSError(22, "Invalid argument")

    with pytest.raises(RunFailed, match="measuring a in /here: Invalid argument"):
        repeated([HardwareProbe({"a": "s"}, refused)], 2, lambda *_: None, "in /here")


def test_a_profile_says_a_burst_only_if_it_is_certain():
    def of(burst_s, share):
        named = {
            "disk_burst": ("s", burst_s),
            "disk_access_in_order": ("s", [1e-4, 1e-4]),
            "disk_access_4_in_flight": ("s", [1e-3, 1e-3]),
            "disk_access_4_processor_share": ("1", [share, share]),
            "disk_access_16_in_flight": ("s", [1e-3, 1e-3]),
            "disk_access_16_processor_share": ("1", [share, share]),
        }
        by_name = {key: quantity(key, unit, values) for key, (unit, values) in named.items()}
        return "\n".join(calibrate.disk_remarks(by_name))

    assert of([0.5, 0.51], 0.1).startswith('burst = "505 ms"')
    assert of([0.0, 0.51], 0.1).startswith("# No burst is certain")
    assert "this measurement itself used 90% of a core" in of([0.5, 0.51], 0.9)
    assert "itself" not in of([0.5, 0.51], 0.1)
