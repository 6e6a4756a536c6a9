"""Tests of two helpers of other tests. One helper waits with a given clock. The other helper runs
the command in this process and has to give the same outcome as a separate process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from support.command import DFSLAB, dfslab
from support.waiting import wait_until


class Clock:
    """A clock that advances only in `sleep`."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s

    def sleep(self, time_s):
        self.now_s += time_s


def test_waiting_ends_with_what_happens_and_with_the_limit():
    clock = Clock()
    assert wait_until(lambda: clock.now_s > 3.0, 5.0, clock, clock.sleep)
    assert 3.0 < clock.now_s < 3.1
    assert not wait_until(lambda: False, 5.0, clock, clock.sleep)
    assert 8.0 < clock.now_s < 8.1
    clock.now_s = 1e9
    assert wait_until(lambda: True, -1.0, clock, clock.sleep)


@pytest.mark.parametrize(
    "words", [("--version",), ("list", "--json"), ("run", "missing.toml"), ("no-such-command",)]
)
def test_the_command_answers_as_its_process_does(words, tmp_path):
    answer = dfslab(*words, cwd=tmp_path)
    process = subprocess.run(
        [DFSLAB, *words], cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (
        process.returncode,
        process.stdout,
        process.stderr,
    )


def test_the_command_leaves_this_process_as_it_was(tmp_path, capfd):
    before = (os.getcwd(), sys.argv, sys.stdout, signal.getsignal(signal.SIGTERM))
    dfslab("--version", cwd=tmp_path, env={"DFSLAB_STATE": str(tmp_path)})
    assert (os.getcwd(), sys.argv, sys.stdout, signal.getsignal(signal.SIGTERM)) == before
    assert os.environ.get("DFSLAB_STATE") != str(tmp_path)
    print("said")
    os.write(1, b"written\n")
    assert sorted(capfd.readouterr().out.splitlines()) == ["said", "written"]
