"""Tests of background processes (daemons). A daemon is started, awaited, stopped and paused. The
tests also check that dfslab never mistakes another process for the daemon."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest
from dfslab.testbeds.daemon import Daemon, run_to_end, tied_to_owner
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.process import MARK, LiveProcess, end, marked
from support.clock import ManualClock
from support.waiting import wait_until

TICKER = """
import pathlib, sys, time
count = 0
while True:
    count += 1
    pathlib.Path(sys.argv[1]).write_text(str(count))
    time.sleep(0.01)
"""


def python(source: str, *arguments: object) -> list[str]:
    return [sys.executable, "-u", "-c", textwrap.dedent(source), *map(str, arguments)]


def make(folder: Path, source: str, ready=None, **more) -> Daemon:
    """Returns a daemon that runs Python source. The daemon counts as ready when the file `ready`
    exists."""
    return Daemon(
        "tester",
        python(source, folder / "ready"),
        folder / "log",
        ready or (folder / "ready").exists,
        os.environ,
        folder,
        **more,
    )


@pytest.fixture
def ticker(tmp_path):
    daemon = make(tmp_path, TICKER)
    yield daemon
    daemon.kill()


def test_a_command_whose_owner_ended_before_it_started_does_not_run(tmp_path):
    """A command that is bound to an owner process does not start if its parent is another process.
    In this case the owner has already ended, and the kernel would never signal its end to the
    command."""
    touched = tmp_path / "touched"
    command = tied_to_owner(["touch", str(touched)])
    assert subprocess.run(command, check=False).returncode == 0
    assert touched.exists()
    touched.unlink()
    other = subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", *command], check=False)
    assert other.returncode == 1
    assert not touched.exists()


def test_starts_when_ready_and_stops(ticker):
    ticker.start()
    assert ticker.state() == "running"
    assert ticker.process.resident_bytes() > 1_000_000
    ticker.stop()
    assert ticker.state() == "dead"
    assert not Path(f"/proc/{ticker.process.pid}").exists(), "it was left as a zombie"


def test_lives_in_its_own_session_so_that_an_interruption_does_not_reach_it(ticker):
    ticker.start()
    assert os.getsid(ticker.process.pid) == ticker.process.pid != os.getsid(0)


def test_never_ready_is_an_error_with_the_last_lines(tmp_path):
    source = "import time\nfor n in range(40): print('line', n)\nwhile True: time.sleep(60)"
    clock, log = ManualClock(runs=False), tmp_path / "log"

    def never() -> bool:
        # The clock advances past the deadline only after the daemon has written all lines, however
        # long this takes.
        if "line 39\n" in log.read_text():
            clock.advance(1.001)
        return False

    daemon = make(tmp_path, source, never, ready_deadline_s=1.0, clock=clock)
    with pytest.raises(TestbedError) as caught:
        daemon.start()
    assert caught.value.kind == "not_ready"
    assert caught.value.log_lines[-1] == "line 39"
    assert "line 0" not in caught.value.log_lines
    assert "starting tester: not ready after 1 s\n  | line" in str(caught.value)
    assert daemon.state() == "dead", "the failed start left the process"


def test_death_before_ready_is_reported_at_once(tmp_path):
    # The time of the clock does not advance, so no deadline is reached. Only the end of the daemon
    # ends the wait.
    daemon = make(
        tmp_path, "print('no such disk'); raise SystemExit(3)", clock=ManualClock(runs=False)
    )
    with pytest.raises(TestbedError) as caught:
        daemon.start()
    assert caught.value.kind == "died"
    assert "status 3" in str(caught.value)
    assert caught.value.log_lines == ("no such disk",)


def test_a_missing_program_is_a_typed_error(tmp_path):
    daemon = Daemon(
        "ghost", [str(tmp_path / "none")], tmp_path / "log", lambda: True, {}, tmp_path, owned=False
    )
    with pytest.raises(TestbedError) as caught:
        daemon.start()
    assert caught.value.kind == "launch"


def test_pause_and_resume(ticker, tmp_path):
    ticker.start()
    ticker.pause()
    assert ticker.state() == "paused"
    before = (tmp_path / "ready").read_text()
    time.sleep(0.2)
    assert (tmp_path / "ready").read_text() == before
    ticker.resume()
    assert wait_until(lambda: (tmp_path / "ready").read_text() not in (before, ""))
    assert ticker.state() == "running"


def test_a_paused_daemon_stops_in_an_orderly_way(tmp_path):
    source = """
        import pathlib, signal, sys, time
        def bye(number, frame):
            print("bye")
            raise SystemExit(0)
        signal.signal(signal.SIGTERM, bye)
        pathlib.Path(sys.argv[1]).touch()
        while True: time.sleep(1)
    """
    daemon = make(tmp_path, source)
    daemon.start()
    daemon.pause()
    daemon.stop()
    assert (tmp_path / "log").read_text() == "bye\n"


def test_one_that_ignores_sigterm_is_killed(tmp_path):
    source = """
        import pathlib, signal, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        pathlib.Path(sys.argv[1]).touch()
        while True: time.sleep(60)
    """
    daemon = make(tmp_path, source)
    daemon.start()
    began = time.monotonic()
    daemon.stop(grace_s=0.3)
    assert time.monotonic() - began >= 0.3
    # A daemon that does not end by itself is killed.
    assert daemon.state() == "dead"


def test_restart_is_a_new_process_with_the_same_log(tmp_path):
    source = "print('hello')\n" + TICKER
    daemon = make(tmp_path, source)
    daemon.start()
    first = daemon.process
    daemon.kill()
    assert daemon.state() == "dead"
    daemon.restart()
    try:
        assert daemon.process != first
        assert wait_until(lambda: (tmp_path / "log").read_text().count("hello") == 2)
    finally:
        daemon.kill()


def test_a_reused_number_is_never_signalled(ticker):
    """A daemon has ended and another process has got its PID. This other process is never
    signalled."""
    ticker.start()
    stranger = ticker.process
    earlier = replace(stranger, start_ticks=stranger.start_ticks - 1)
    before_boot = replace(stranger, boot="another boot")
    for record in (earlier, before_boot):
        assert not record.alive()
        assert not record.signal(signal.SIGKILL)
        assert record.wait_end(5.0)
        assert record.resident_bytes() == 0
        end([record], 0.1)
    time.sleep(0.1)
    assert ticker.state() == "running"


def test_it_dies_with_its_owner(tmp_path):
    source = """
        import os, signal, sys
        from pathlib import Path
        from dfslab.testbeds.daemon import Daemon
        folder = Path(sys.argv[1])
        daemon = Daemon("child", [sys.executable, "-c", sys.argv[2], str(folder / "ready")],
                        folder / "log", (folder / "ready").exists, os.environ, folder,
                        owned=sys.argv[3] == "owned")
        daemon.start()
        print(daemon.process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    for owned in ("owned", "free"):
        (tmp_path / "ready").unlink(missing_ok=True)
        answer = subprocess.run(
            python(source, tmp_path, TICKER, owned), capture_output=True, text=True, check=False
        )
        assert answer.returncode == -signal.SIGKILL, answer.stderr
        pid = int(answer.stdout)
        if owned == "owned":
            assert wait_until(lambda pid=pid: not os.path.exists(f"/proc/{pid}"))
        else:
            time.sleep(0.5)
            left = LiveProcess.of(pid)
            assert left.alive(), "the control died too: the test shows nothing"
            end([left], 1.0)


def test_marked_processes_are_found_with_their_children(tmp_path):
    source = """
        import subprocess, sys, pathlib
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        pathlib.Path(sys.argv[1]).write_text(str(child.pid))
        child.wait()
    """
    daemon = make(tmp_path, source)
    daemon.env[MARK] = f"test-{os.getpid()}"
    daemon.start()
    assert wait_until(lambda: (tmp_path / "ready").read_text() != "")
    grandchild = int((tmp_path / "ready").read_text())
    assert wait_until(lambda: len(marked(daemon.env[MARK])) == 2)
    daemon.kill()
    assert [process.pid for process in marked(daemon.env[MARK])] == [grandchild]
    end(marked(daemon.env[MARK]), 1.0)
    assert marked(daemon.env[MARK]) == []


def test_run_to_end(tmp_path):
    log = tmp_path / "log"
    run_to_end("fine", python("print('done')"), log, os.environ, tmp_path, 120.0)
    assert log.read_text() == "done\n"
    with pytest.raises(TestbedError, match="status 7") as caught:
        run_to_end(
            "bad", python("print('why'); raise SystemExit(7)"), log, os.environ, tmp_path, 120.0
        )
    assert caught.value.log_lines[-1] == "why"
    with pytest.raises(TestbedError, match="not finished after 0.5 s"):
        run_to_end("slow", python("import time; time.sleep(600)"), log, os.environ, tmp_path, 0.5)
