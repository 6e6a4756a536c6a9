"""Tests of Ctrl-C during a run. Finished results stay valid, no other file or process remains, and
the next start of the run continues it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from dfslab.cli import deliver_interrupt_again
from dfslab.studies.runs.records.record_log import RecordLog
from support.command import DFSLAB, dfslab
from support.waiting import wait_until

pytestmark = pytest.mark.heavy

SCENARIO = """
schema = 1
name = "interrupted"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
access = { directory = "data" }
[workload]
name = "sequential_write"
file_size = "1 MiB"
operations_per_client = 200
# The runs together last 8 s at least, so that the signal reaches the run also on a busy machine.
think_time = "2 ms"
[run]
methods = ["measure", "sequence", "mean"]
repetitions = 2
[[sweep]]
"workload.clients" = [1, 2]
"workload.file_size" = ["256 KiB", "512 KiB", "1 MiB", "2 MiB", "4 MiB"]
"""


def results(place):
    """Returns the measurements that the interrupted run has stored."""
    folders = (place / "runs").glob("interrupted/2*")
    found = [one for folder in folders for one in RecordLog(folder).read()]
    return [one for one in found if one.method == "measure"]


def interrupted(tmp_path, number):
    """Starts a run, sends it the signal `number` when it has some results, and returns the results
    that are stored afterwards."""
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine").write_text("mine")
    child = subprocess.Popen(
        [DFSLAB, "run", "scenario.toml"],
        cwd=tmp_path,
        # If the tests were started by nohup, they ignore SIGHUP. Without this line, the child
        # process would also ignore SIGHUP.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert wait_until(lambda: len(results(tmp_path)) >= 3 or child.poll() is not None, 300)
    os.kill(child.pid, number)
    _, said = child.communicate(timeout=300)
    assert child.returncode == 130, said
    assert "interrupted" in said.strip().splitlines()[-1]
    assert re.search(
        r"Unfinished: \d+ of 20 measurements are done; `dfslab run .* resumes it", said
    )
    assert "Traceback" not in said
    assert os.listdir(tmp_path / "data") == ["mine"]
    kept = results(tmp_path)
    assert 3 <= len(kept) < 20
    assert all(one.complete for one in kept)
    return kept


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_end_of_a_job_and_a_lost_terminal_interrupt(tmp_path, number):
    interrupted(tmp_path, number)


def test_an_interrupted_run_is_kept_and_resumed(tmp_path):
    kept = interrupted(tmp_path, signal.SIGINT)
    again = dfslab("run", "scenario.toml", "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert len(json.loads(again.stdout)["points"]) == 10
    found = results(tmp_path)
    assert len(found) == 20
    assert all(one in found for one in kept)
    assert os.listdir(tmp_path / "data") == ["mine"]


class InterruptedInItsDestructor:
    """Raises SIGINT in its destructor. Python prints an exception of a destructor and does not pass
    the exception on to the caller."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_cannot_be_raised_is_delivered_again(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", deliver_interrupt_again)

    def interrupted_once():
        InterruptedInItsDestructor()
        wait_until(lambda: False, 60)

    with pytest.raises(KeyboardInterrupt):
        interrupted_once()


def test_another_exception_that_cannot_be_raised_is_printed(monkeypatch, capsys):
    class Fails:
        def __del__(self):
            raise ValueError("in a destructor")

    monkeypatch.setattr(sys, "unraisablehook", deliver_interrupt_again)
    Fails()
    assert "ValueError: in a destructor" in capsys.readouterr().err
