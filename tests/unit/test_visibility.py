"""Tests of the delay after which one client observes changes that another client made. On one
machine, the delay is zero. A planted delay is found."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
from dfslab.documents.visibility_report import Visibility
from dfslab.fleet import observer
from dfslab.fleet.client_hosts import HERE
from dfslab.instruments import access
from dfslab.instruments.visibility import Observer, VisibilityTrial, summary, visibility
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from support.clock import ManualClock
from support.synthetic import scenario
from support.waiting import wait_until


def with_access(name: str, **how: str) -> Scenario:
    """Returns a scenario that reaches the file system `name` by the given access."""
    table = scenario().model_dump(mode="json")
    table["file_system"] = {"name": name, "access": how}
    return build(Scenario, table)


def test_on_one_machine_everything_is_visible_at_once(tmp_path):
    requested = with_access("local", directory=str(tmp_path))
    with access.session() as session:
        found = visibility(requested, 8, session)
    assert [row.change for row in found] == list(observer.CHANGES)
    for row in found:
        assert (row.summary.trials, row.summary.unobserved) == (8, 0), row
        assert 0 <= row.summary.times.visible_s_p50_low <= row.summary.times.visible_s_p50, row
        # On one machine, a change is visible before the call that makes it returns. Therefore no
        # poll after the return observes the old state.
        assert row.summary.stale_looks == 0, row
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", observer.CHANGES)
def test_a_planted_delay_and_its_stale_looks_are_found(change, tmp_path):
    """The watcher polls until a change becomes visible. The watcher reports the delay since the
    acknowledgement of the change, and the number of stale polls during this delay. The planted
    delay is long enough for two polls."""
    path, said, answer = str(tmp_path / "file"), [], []
    observer.before(change, path, 7)
    watching = {"watch": change, "path": path, "turn": 7, "poll_s": 0.001, "limit_s": 5.0}
    clock = ManualClock(runs=False)
    watcher = threading.Thread(
        target=lambda: answer.append(observer.watch(watching, said.append, clock)), daemon=True
    )
    watcher.start()
    assert wait_until(lambda: said)
    acknowledged_ns = clock.unix_ns()
    clock.advance(0.05)
    looks = len(clock.sleeps)
    assert wait_until(lambda: len(clock.sleeps) >= looks + 2)
    observer.act(change, path, 7)
    watcher.join()
    observed = answer[0]
    visible_s = (observed["seen_ns"] - acknowledged_ns) * 1e-9
    stale = sum(at_ns > acknowledged_ns for at_ns in observed["polls"])
    assert visible_s == pytest.approx(0.05, abs=1e-9)
    assert stale >= 1
    observer.clear(path)
    assert list(tmp_path.iterdir()) == []


def test_control_c_leaves_nothing(tmp_path):
    """Ctrl-C, which a terminal sends to all processes of the command, leaves no file."""
    path, data = tmp_path / "scenario.toml", tmp_path / "data"
    path.write_text(with_access("local", directory=str(data)).toml())
    data.mkdir()
    dfslab = Path(sys.executable).with_name("dfslab")
    child = subprocess.Popen(
        [dfslab, "visibility", path, "--trials", "100000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )

    def is_at_work() -> bool:
        # os.walk ignores files that disappear while it runs, such as the file by which write access
        # is checked.
        return any(
            root != str(data) and (folders or files) for root, folders, files in os.walk(data)
        )

    assert wait_until(is_at_work)
    os.killpg(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=120)
    assert child.returncode == 130, said
    assert "Traceback" not in said
    assert list(data.iterdir()) == []


@pytest.mark.parametrize("sent", [False, True])
def test_a_client_answers_after_an_interrupt_before_or_after_a_command(tmp_path, monkeypatch, sent):
    """After Ctrl-C a client process still answers later commands.

    If Ctrl-C came before a command was sent, the controller expects no answer to this command. If
    Ctrl-C came after the command was sent, the controller skips the answer.
    """
    client, left = Observer(HERE), str(tmp_path / "left")
    try:
        with monkeypatch.context() as patched:
            where = "hear" if sent else "say"
            patched.setattr(client, where, partial(_interrupt, getattr(client, where), sent))
            with pytest.raises(KeyboardInterrupt):
                client.do({"do": "before", "with": ["append", left, 1]})
        assert client.do({"act": "append", "path": left, "turn": 1})["acknowledged_ns"] > 0
        assert len(Path(left).read_bytes()) == observer.BLOCK * (2 if sent else 1)
        assert client.do({"do": "clear", "with": [left]})["done"]
    finally:
        client.close()
    assert not Path(left).exists()


def _interrupt(called, sent, *reported):
    if not sent:
        # The interrupt comes after the command has got its number, but before the command is
        # written.
        called.__self__.turn += 1
    raise KeyboardInterrupt


def test_numbers_are_reported_with_their_interval():
    trials = [VisibilityTrial(n / 100, n % 2, 0) for n in range(101)]
    found = summary([*trials, VisibilityTrial(None, 3, 1)])
    assert (found.trials, found.unobserved, found.before) == (102, 1, 1)
    assert (found.stale_looks, found.stale_trials, found.torn_looks) == (53, 51, 1)
    assert found.times.visible_s_p50 == 0.5
    assert found.times.visible_s_p50_low == pytest.approx(0.42, abs=0.02)
    assert found.times.visible_s_p50_high == pytest.approx(0.59, abs=0.02)
    assert found.times.visible_s_p90 == pytest.approx(0.9, abs=0.02)


def test_the_json_object_is_flat_and_has_times_only_where_there_are_any():
    counts = [
        "change",
        "trials",
        "unobserved",
        "stale_looks",
        "stale_trials",
        "torn_looks",
        "before",
    ]
    never = Visibility(change="append", summary=summary([VisibilityTrial(None, 2, 0)]))
    assert list(never.table()) == counts
    once = Visibility(change="append", summary=summary([VisibilityTrial(0.5, 2, 0)]))
    assert list(once.table()) == [
        *counts,
        "visible_s_p50",
        "visible_s_p50_low",
        "visible_s_p50_high",
        "visible_s_p90",
        "visible_s_max",
    ]


def test_what_is_not_mounted_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        port = somebody.getsockname()[1]
        requested = with_access("hdfs", uri=f"hdfs://127.0.0.1:{port}")
        with access.session() as session, pytest.raises(InputError, match="two clients mount"):
            visibility(requested, 1, session)
