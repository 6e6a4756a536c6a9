"""Tests of the probe of files that several streams create and delete, also on a busy machine."""

from __future__ import annotations

import errno

import pytest
from dfslab.instruments.calibration import concurrent_calls, file_calls, sustained_disk
from dfslab.instruments.calibration.concurrent_calls import FileRates
from dfslab.instruments.discovery import probes
from dfslab.spec.hardware.uncertainty import factor_of

ALONE = FileRates(20_000.0, 50_000.0)


def test_the_probe_creates_and_deletes_all_its_files(tmp_path, monkeypatch):
    monkeypatch.setattr(concurrent_calls, "STREAMS", 3)
    monkeypatch.setattr(concurrent_calls, "FILES", 20)
    monkeypatch.setattr(concurrent_calls, "ATTEMPTS", 1)
    found = concurrent_calls.measure(tmp_path)
    assert set(found) == set(concurrent_calls.UNITS)
    assert min(found.values()) > 0
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == []
    assert len(list(tmp_path.glob("together-0/*"))) == 3


def test_a_stream_stops_at_its_time_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(concurrent_calls, "LIMIT_S", 0.0)
    monkeypatch.setattr(concurrent_calls, "STREAMS", 2)
    assert min(concurrent_calls.measure(tmp_path).values()) > 0


def test_an_error_of_a_stream_is_raised_with_its_path(tmp_path):
    missing = tmp_path / "missing"
    refused = pytest.raises(OSError, match=f"No such file.*{missing}")
    with refused as caught, concurrent_calls.streams_of(missing, 2):
        pass
    assert caught.value.errno == errno.ENOENT


@pytest.fixture
def attempts(monkeypatch):
    """Returns a function that plants the rates of several streams, one for each attempt, and
    returns the list of attempts that were made."""

    def planted(*together):
        made, answers = [], iter(together)

        def rates(folder, streams):
            if streams == 1:
                return ALONE
            made.append(folder)
            return next(answers)

        monkeypatch.setattr(concurrent_calls, "_rates", rates)
        return made

    return planted


def test_a_disturbed_attempt_is_repeated_and_the_highest_rate_counts(tmp_path, attempts):
    made = attempts(FileRates(9_000.0, 60_000.0), FileRates(38_000.0, 90_000.0))
    found = concurrent_calls.measure(tmp_path)
    assert len(made) == 2
    assert (found["file_creates"], found["file_deletes"]) == (38_000.0, 90_000.0)


def test_attempts_are_bounded(tmp_path, attempts):
    made = attempts(*(FileRates(9_000.0 + at, 60_000.0) for at in range(9)))
    assert concurrent_calls.measure(tmp_path)["file_creates"] == 9_002.0
    assert len(made) == concurrent_calls.ATTEMPTS


@pytest.fixture
def repetitions(monkeypatch):
    """Returns a function that plants the creations per second of one stream and of several."""

    def planted(alone, together):
        answers = iter(
            {
                **dict.fromkeys(file_calls.UNITS, 1e-3),
                "file_creates_alone": alone,
                "file_creates": rate,
                "file_deletes_alone": 50_000.0,
                "file_deletes": 90_000.0,
            }
            for rate in together
        )
        disk = dict.fromkeys(sustained_disk.UNITS, 1e-3)
        monkeypatch.setattr(file_calls, "everything", lambda _: next(answers))
        monkeypatch.setattr(sustained_disk, "everything", lambda *_: disk)

    return planted


def test_steady_rates_of_several_streams_are_taken(tmp_path, repetitions):
    repetitions(20_000.0, [38_000.0, 40_000.0, 39_000.0])
    found = probes.local_files(tmp_path)
    assert found.files.creates == 39_000.0
    assert found.disturbed == []
    assert factor_of(found.calls_log_sd) < 1.1


def test_the_rate_of_one_stream_replaces_a_lower_rate_of_several(
    tmp_path, repetitions, monkeypatch
):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    repetitions(20_000.0, [4_900.0, 5_000.0, 5_100.0])
    found = probes.local_files(tmp_path)
    assert found.files.creates == 20_000.0
    assert found.disturbed == ["creations"]
    # The interval reaches from the probed rate to the rate of one stream on each processor.
    assert factor_of(found.calls_log_sd) == pytest.approx(4)


def test_repetitions_that_differ_widen_the_interval(tmp_path, repetitions):
    """On a large ext4 disk, the place of a directory changes the time of a create 30 times."""
    repetitions(5_000.0, [8_000.0, 240_000.0, 220_000.0])
    found = probes.local_files(tmp_path)
    assert found.disturbed == []
    assert factor_of(found.calls_log_sd) > 10
