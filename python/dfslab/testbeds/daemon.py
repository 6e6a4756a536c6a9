"""Manages one daemon: starts it, waits until it is ready, stops, kills, pauses and restarts it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from dfslab.spec.clock import REAL, Clock
from dfslab.testbeds import state
from dfslab.testbeds.errors import TestbedError, last_lines
from dfslab.testbeds.hosts.process import MARK, LiveProcess, ProcessState, end

POLL_S = 0.1
READY_DEADLINE_S = 300.0
STOP_GRACE_S = 5.0


# A shell script that executes the command "$@" if the parent of the shell is still the process
# whose PID is in $0. Otherwise, the parent has ended, and the script does nothing.
UNLESS_ORPHANED = '[ "$PPID" = "$0" ] && exec "$@"'


def tied_to_owner(command: Sequence[str]) -> list[str]:
    """Returns the command, wrapped so that the kernel kills its process when this process ends.

    The wrapper `setpriv` requests from the kernel that the command is killed when the thread that
    started it ends. Only the main thread is sure to live as long as this process. The command is
    therefore returned unchanged if another thread calls this function. The command is also returned
    unchanged if `setpriv` is missing. If this process then ends without taking its testbed down,
    the testbed can still be found by its record.

    If this process ends before `setpriv` has made its request, the kernel does not kill the
    command. `setpriv` therefore starts a shell, which executes the command only if its parent is
    still this process.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None or threading.current_thread() is not threading.main_thread():
        return list(command)
    owned = ["/bin/sh", "-c", UNLESS_ORPHANED, str(os.getpid()), *command]
    return [setpriv, "--pdeathsig", "KILL", "--", *owned]


def spawn(
    command: Sequence[str], log_path: Path, env: Mapping[str, str], cwd: Path
) -> subprocess.Popen:
    """Starts a command in a new session, with its output in a log file. Returns the process.

    Raises TestbedError if the command cannot be started.
    """
    try:
        with state.launching(env.get(MARK)), log_path.open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
            )
    except OSError as error:
        raise TestbedError("launch", f"starting {command[0]}", str(error)) from error


class Daemon:
    """A long-running child process with a log file and a readiness test.

    `ready` returns whether the daemon serves. The function must return False, and not raise an
    error, while the daemon does not answer yet. If `owned` is true, the daemon ends when this
    process ends. All times are in seconds.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log_path: Path,
        ready: Callable[[], bool],
        env: Mapping[str, str],
        cwd: Path,
        owned: bool = True,
        ready_deadline_s: float = READY_DEADLINE_S,
        clock: Clock = REAL,
    ) -> None:
        self.name, self.command, self.log_path = name, list(command), log_path
        self.ready, self.env, self.cwd = ready, dict(env), cwd
        self.owned, self.ready_deadline_s = owned, ready_deadline_s
        self._clock = clock
        self.process: LiveProcess | None = None
        self._child: subprocess.Popen | None = None

    def start(self) -> None:
        """Launches the daemon and waits until it is ready.

        If it does not become ready, TestbedError is raised and no process remains.
        """
        self.launch()
        try:
            self.wait_ready()
        except BaseException:
            self.kill()
            raise

    def launch(self) -> None:
        """Starts the process without waiting, so that several daemons can start concurrently."""
        assert self.state() in ("stopped", "dead"), f"{self.name} is already running"
        command = tied_to_owner(self.command) if self.owned else self.command
        self._child = spawn(command, self.log_path, self.env, self.cwd)
        self.process = LiveProcess.of(self._child.pid)

    def wait_ready(self) -> None:
        """Waits until `ready` returns true.

        Raises TestbedError if the daemon has ended or is not ready after the time limit. The error
        has the last lines of the log.
        """
        deadline = self._clock.monotonic_s() + self.ready_deadline_s
        while not self.ready():
            self.check_alive()
            if self._clock.monotonic_s() > deadline:
                raise self._error("not_ready", f"not ready after {self.ready_deadline_s:g} s")
            self._clock.sleep(POLL_S)

    def check_alive(self) -> None:
        """Raises TestbedError with the last lines of the log if the daemon has ended."""
        if self.state() == "dead":
            assert self._child is not None
            why = f"ended with status {self._child.wait()} before it was ready"
            raise self._error("died", why)

    def stop(self, grace_s: float = STOP_GRACE_S) -> None:
        """Sends SIGTERM, waits up to `grace_s` seconds, then sends SIGKILL.

        Does nothing if the daemon does not run.
        """
        if self.process is not None:
            end([self.process], grace_s)
        self.reap()

    def kill(self) -> None:
        """Sends SIGKILL immediately, which simulates a crash."""
        self.signal(signal.SIGKILL)
        self.reap()

    def pause(self) -> None:
        """Suspends the daemon (SIGSTOP), which simulates a hung machine.

        Returns when all its threads are stopped.
        """
        self.signal(signal.SIGSTOP)
        # The kernel only queues SIGSTOP. Each thread of the daemon stops later, when it leaves the
        # kernel. Wait until the daemon is no longer in the state "running".
        deadline = self._clock.monotonic_s() + STOP_GRACE_S
        while self.state() == "running":
            if self._clock.monotonic_s() > deadline:
                raise TestbedError("failed", f"pausing {self.name}", "still runs after SIGSTOP")
            self._clock.sleep(0.001)

    def resume(self) -> None:
        """Resumes a suspended daemon."""
        self.signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stops the daemon if it runs, starts it again and waits until it is ready.

        The log file is continued.
        """
        self.stop()
        self.start()

    def signal(self, number: signal.Signals) -> None:
        """Sends one signal to the daemon. Does nothing if the daemon does not run."""
        if self.process is not None:
            self.process.signal(number)

    def state(self) -> ProcessState | Literal["stopped"]:
        """Returns the state of the daemon; "stopped" if it was never started."""
        return "stopped" if self.process is None else self.process.state()

    def reap(self) -> None:
        """Collects the exit status of the child process if it has ended for any reason, so that
        no zombie remains."""
        ended = self.process is not None and self.process.wait_end(STOP_GRACE_S)
        if ended and self._child is not None:
            self._child.poll()

    def _error(self, kind, why: str) -> TestbedError:
        return TestbedError(kind, f"starting {self.name}", why, last_lines(self.log_path))


def run_to_end(
    name: str,
    command: Sequence[str],
    log_path: Path,
    env: Mapping[str, str],
    cwd: Path,
    time_limit_s: float,
) -> None:
    """Runs a command that ends by itself.

    Raises TestbedError with the last lines of its log if the command fails or exceeds the time
    limit. An interruption also ends the command.
    """
    child = spawn(tied_to_owner(command), log_path, env, cwd)
    process = LiveProcess.of(child.pid)
    try:
        status = child.wait(time_limit_s)
    except subprocess.TimeoutExpired:
        why = f"not finished after {time_limit_s:g} s"
        raise TestbedError("failed", name, why, last_lines(log_path)) from None
    finally:
        if child.returncode is None:
            end([process], 1.0)
            child.wait()
    if status != 0:
        raise TestbedError("failed", name, f"ended with status {status}", last_lines(log_path))
