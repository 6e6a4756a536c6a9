"""Tests of the live view of traces. The view shows the work of the last seconds until all traced
processes end or Ctrl-C is pressed."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from dfslab.cli.root import app
from dfslab.cli.traces import trace_top
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.plain import plain
from dfslab.documents.traces.trace_analysis import Received, ReceivedProfile, given
from dfslab.documents.traces.trace_profile import Entry
from dfslab.instruments.tracing import callprofile
from dfslab.spec.input_error import InputError
from rich.console import Console
from support.clock import ManualClock
from support.command import DFSLAB
from support.profiles import SMALL_FILES, files, tree_profile
from support.waiting import wait_until
from typer.testing import CliRunner

S = 10**9


def received(folder: Path, spans: int, ended: bool) -> None:
    entry = Entry(
        name="read",
        path=CallPath.read("client:read"),
        kind="service",
        count=spans,
        read=spans,
        errors=0,
        bytes=0,
        total_s=spans * 0.5,
        self_s=spans * 0.25,
        total_ns=spans * S // 2,
        self_ns=spans * S // 4,
        share=1.0,
        mean_s=0.5,
        again=0,
        again_ns=0,
    )
    profile = tree_profile(spans=spans, trees=1, shapes=1, ranking=[entry])
    counts = Received(messages=1, bytes=64, refused=0)
    whole = ReceivedProfile(**given(profile), received=counts, ended=ended)
    temporary = folder / "next"
    temporary.write_text(json.dumps(plain(whole)))
    temporary.replace(folder / trace_top.RECEIVED)


def written(folder: Path, at_s: int, times: int, last: bool = False) -> None:
    """Writes the profile of every process to `folder`. Each profile describes one second of work,
    repeated `times` times. `at_s` is the time of writing in Unix time. `last` marks the profiles as
    final."""
    for name, file in files(SMALL_FILES):
        sums = ("count", "total_ns", "self_ns", "bytes")
        rows = [
            row.model_copy(update={key: getattr(row, key) * times for key in sums})
            for row in file.nodes
        ]
        reported = {"nodes": rows, "started_unix_ns": S, "written_unix_ns": at_s * S, "last": last}
        temporary = folder / "next"
        temporary.write_text(callprofile.written(file.model_copy(update=reported)))
        temporary.replace(folder / f"{name}.profile.json")


def shown(observed: trace_top.Snapshot | None, folder: Path, width: int, height: int) -> list[str]:
    console = Console(width=width, height=height, force_terminal=False)
    with console.capture() as capture:
        console.print(trace_top.view(observed, folder, width, height))
    return capture.get().rstrip("\n").split("\n")


def test_it_looks_at_running_jvms(tmp_path):
    (_, file), *others = files(SMALL_FILES)
    path = tmp_path / "client.profile.json"
    path.write_text(callprofile.written(file))
    answer = CliRunner().invoke(app, ["trace", "top", str(tmp_path), "--once", "--json"])
    assert answer.exit_code == 0, answer.output
    before = json.loads(answer.stdout)
    # Further processes write their profiles, and the next reading merges all profiles.
    for name, other in others:
        (tmp_path / f"{name}.profile.json").write_text(callprofile.written(other))
    after = trace_top.once(tmp_path)
    assert after.spans == before["spans"] + 20
    assert any("/server:make" in str(row.path) for row in after.ranking)


def test_the_last_period_stands_apart_from_what_was_before(tmp_path):
    clock = ManualClock(121.5)
    looks = trace_top.Looks(tmp_path, clock)
    assert looks.look() is None
    written(tmp_path, 101, times=100)
    first = looks.look()
    assert first.period_s == pytest.approx(100)
    written(tmp_path, 111, times=105)
    observed = looks.look()
    assert observed.period_s == pytest.approx(10)
    rows = {str(row.path): row for row in observed.work + observed.waits}
    back_off = rows["client:put/close/back_off"]
    assert (back_off.count, back_off.self_s) == (50, pytest.approx(3.5))
    assert not observed.ended
    # No process has written a new profile, so the view still shows the last period.
    assert looks.look().waits[0].count == observed.waits[0].count
    written(tmp_path, 121, times=110, last=True)
    assert not looks.look().ended, "another process may follow"
    clock.advance(trace_top.ENDED_AFTER_S)
    assert looks.look().ended, "long ago by the clock"


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 12), (200, 60)])
def test_a_screen_is_filled_and_never_left(tmp_path, width, height):
    looks = trace_top.Looks(tmp_path)
    assert "waiting" in shown(looks.look(), tmp_path, width, height)[0]
    written(tmp_path, 101, times=100)
    looks.look()
    written(tmp_path, 111, times=105)
    lines = shown(looks.look(), tmp_path, width, height)
    assert len(lines) < height
    assert max(map(len, lines)) <= width
    (row,) = [line for line in lines if "back_off" in line]
    assert row.split()[1:] == ["5.0", "350", "ms", "70", "ms"]


def test_what_a_receiver_added_is_reported_per_second(tmp_path):
    received(tmp_path, 100, ended=False)
    os.utime(tmp_path / trace_top.RECEIVED, (50.0, 50.0))
    looks = trace_top.Looks(tmp_path)
    assert looks.look().period_s is None
    received(tmp_path, 120, ended=False)
    os.utime(tmp_path / trace_top.RECEIVED, (55.0, 55.0))
    observed = looks.look()
    assert observed.period_s == pytest.approx(5)
    assert [(row.count, row.self_s) for row in observed.work] == [(20, pytest.approx(5.0))]


def test_it_goes_on_until_the_receiver_has_ended(tmp_path, capsys):
    received(tmp_path, 3, ended=False)
    clock = ManualClock(runs=False)
    watching = threading.Thread(target=trace_top.watch, args=(tmp_path, 7.0, clock), daemon=True)
    watching.start()
    assert wait_until(lambda: len(clock.sleeps) >= 3)
    assert set(clock.sleeps) == {7.0}
    received(tmp_path, 1234, ended=True)
    assert wait_until(lambda: not watching.is_alive())
    assert "1234 spans" in capsys.readouterr().out


def test_in_a_terminal_it_draws_until_it_is_interrupted(tmp_path):
    """In a terminal of 80 columns, the live view is drawn until Ctrl-C interrupts it."""
    written(tmp_path, int(time.time()), times=3)
    control, terminal = pty.openpty()
    words = [DFSLAB, "trace", "top", str(tmp_path), "--interval", "50 ms"]
    reported = {**os.environ, "COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
    program = subprocess.Popen(
        words,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=reported,
        start_new_session=True,
    )
    os.close(terminal)
    drawn = _until(control, "work of the last")
    program.send_signal(signal.SIGINT)
    drawn += _until(control, "call trees")
    assert program.wait(timeout=300) == 0, drawn
    assert "Traceback" not in drawn


def _until(control: int, word: str, limit_s: float = 300.0) -> str:
    text, deadline = "", time.monotonic() + limit_s
    while word not in text and time.monotonic() < deadline:
        if select.select([control], [], [], 0.2)[0]:
            try:
                text += os.read(control, 65536).decode()
            except OSError:  # the other end of the terminal is closed
                break
    assert word in text, text
    return text


def test_in_a_log_each_new_profile_is_reported_once(tmp_path):
    written(tmp_path, 101, times=100)
    log = tmp_path / "log"
    with log.open("w") as out:
        program = subprocess.Popen(
            [DFSLAB, "trace", "top", str(tmp_path), "--interval", "50 ms"],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        _await(log, 1)
        written(tmp_path, 111, times=105)
        _await(log, 2)
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=300) == 0
    text = log.read_text()
    assert text.count("work of the last") == 2
    assert "\x1b" not in text
    assert "call trees" in text


def _await(log: Path, views: int) -> None:
    drawn = wait_until(lambda: log.read_text().count("work of the last") >= views, 300)
    assert drawn, log.read_text()


@pytest.mark.parametrize("text", ["{", "[]", '{"spans": 1}'])
def test_what_is_no_profile_is_one_line(tmp_path, text):
    (tmp_path / trace_top.RECEIVED).write_text(text)
    for look in (trace_top.once, lambda folder: trace_top.Looks(folder).look()):
        with pytest.raises(InputError, match=trace_top.RECEIVED):
            look(tmp_path)


def test_a_folder_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        trace_top.watch(tmp_path / "none", 1.0)
