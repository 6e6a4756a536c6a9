"""Tests that a command which runs clients is executed in a child process. The parent process ends
with the exit code of the child, or with the signal that ended the child."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from dfslab import cli
from dfslab.cli.live.stop_signals import REPEATED_S, StopRequests
from support.clock import ManualClock
from support.waiting import wait_until

# Time limit in seconds. The limit only ends a test that hangs.
HANGS_S = 300
PROGRAM = """
import os, signal, sys, time
from dfslab.cli.live import attended
print("parent", os.getpid(), flush=True)
def work():
    print("child", os.getpid(), flush=True)
    {work}
attended.run(work)
"""


def started(work: str) -> tuple[subprocess.Popen[str], int]:
    """Starts a parent process, which runs the Python code `work` in a child process and waits for
    the child. Returns (parent process, PID of the child)."""
    program = PROGRAM.format(work=work)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    parent, child = (int(process.stdout.readline().split()[1]) for _ in range(2))
    assert parent == process.pid != child
    return process, child


@pytest.mark.parametrize(
    ("work", "code"),
    [("pass", 0), ("sys.exit(2)", 2), ("sys.exit('why')", 1), ("1 / 0", 1), ("sys.exit(130)", 130)],
)
def test_the_exit_code_is_that_of_the_child(work, code):
    process, _ = started(work)
    _, said = process.communicate(timeout=HANGS_S)
    assert process.returncode == code
    assert ("ZeroDivisionError" in said) == (work == "1 / 0")
    assert ("why" in said) == ("why" in work)


def test_output_written_before_the_end_is_complete():
    process, _ = started("print('x' * 100_000)")
    # The rest of the output is read through the same buffered stream as the first line. The buffer
    # of this stream may already contain more than the first line.
    written = process.stdout.read()
    process.communicate(timeout=HANGS_S)
    assert len(written.strip()) == 100_000


def test_a_killed_parent_takes_its_child_along():
    process, child = started("time.sleep(600)")
    process.kill()
    process.communicate(timeout=HANGS_S)
    assert wait_until(lambda: not os.path.exists(f"/proc/{child}"), HANGS_S)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_reaches_the_child_once(number):
    """The parent process receives the signal twice within a moment, as the command `timeout`
    sends it. The child receives it only once. A second signal would interrupt the clean-up of
    the child."""
    work = f"""
    got = []
    signal.signal({int(number)}, lambda *_: (got.append(1), print("signal", flush=True)))
    print("ready", flush=True)
    while not got:
        time.sleep(0.01)
    time.sleep(0.3)
    sys.exit(40 + len(got))
    """.replace("\n    ", "\n    ").strip()
    process, _ = started(work)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.stdout.readline() == "signal\n"
    process.send_signal(number)
    process.communicate(timeout=HANGS_S)
    assert process.returncode == 41


def test_a_signal_is_a_new_request_after_a_pause():
    clock = ManualClock()
    requests = StopRequests(clock)
    assert requests.is_new(signal.SIGTERM)
    clock.advance(REPEATED_S / 2)
    assert not requests.is_new(signal.SIGTERM)
    assert requests.is_new(signal.SIGINT)
    clock.advance(2 * REPEATED_S)
    assert requests.is_new(signal.SIGTERM)


def test_a_repeated_signal_does_not_interrupt_the_clean_up():
    requests = StopRequests(ManualClock())
    with pytest.raises(KeyboardInterrupt):
        requests.handle(signal.SIGTERM, None)
    requests.handle(signal.SIGTERM, None)


def test_the_signal_that_ends_the_child_ends_the_parent():
    process, child = started("time.sleep(600)")
    os.kill(child, signal.SIGKILL)
    process.communicate(timeout=HANGS_S)
    assert process.returncode == -signal.SIGKILL


def test_only_commands_that_run_clients_are_attended():
    assert cli.loads(["measure", "quickstart"])
    assert cli.loads(["trace", "record", "quickstart"])
    assert not cli.loads(["trace", "report", "file"])
    assert not cli.loads(["show", "filesystem", "hdfs"])
    assert not cli.loads(["run", "/dev/stdin"]), "a background child cannot read the terminal"
