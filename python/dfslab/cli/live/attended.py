"""Runs a command in a child process, so that `dfslab` can end even if the child cannot.

If a file system does not answer, a thread that waits for it in a system call cannot be ended, not
even by SIGKILL. The same is true of its process. The parent process makes no such calls: it only
passes signals on to the child. If the child does not end, the parent ends without it.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from dfslab.cli.live.stop_signals import StopRequests
from dfslab.spec.clock import REAL, Clock

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
SUSPENDING = (signal.SIGTSTP, signal.SIGCONT)
# The child is killed when one of these limits, in seconds, has passed. WORK_DONE_LIMIT_S is
# counted from the moment when the child has written its exit code. EXIT_LIMIT_S is counted from the
# moment when the child has closed its output.
WORK_DONE_LIMIT_S = 10.0
EXIT_LIMIT_S = 1.0
# Seconds that the parent waits for a killed child to end, before the parent ends without it.
LEAVE_AFTER_S = 2.0
# Seconds after which the child is killed, counted from the first signal that was passed on to it.
# The limit is long because clients may take two minutes to remove their files.
STOP_LIMIT_S = 150.0
POLL_S = 0.5
FAILED = 1
_PR_SET_PDEATHSIG = 1


def run(work: Callable[[], object]) -> NoReturn:
    """Runs `work` in a child process, and ends this process in the same way as the child ends: with
    the same exit code or signal. `work` sets its exit code by raising SystemExit, as `sys.exit`
    does."""
    blocked = {*PASSED_ON, *SUSPENDING, signal.SIGCHLD}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    reading, writing = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _become_child(parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _work(work, writing)
    os.close(writing)
    # The child makes the same call. The child is therefore in a separate process group from here
    # on, whichever of the two processes runs first.
    with contextlib.suppress(OSError):
        os.setpgid(child, child)
    status = Attendant(child, reading).status()
    if os.WIFSIGNALED(status):
        _end_by(signal.Signals(os.WTERMSIG(status)))
    os._exit(os.waitstatus_to_exitcode(status))


def _become_child(parent: int) -> None:
    """Makes this process the attended child. Puts it in a separate process group, so that a signal
    from the terminal arrives once, through the parent, and not twice. Also requests that the kernel
    kills this process when the parent ends."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(FAILED)


def _work(work: Callable[[], object], writing: int) -> NoReturn:
    """Does the work in the child process. After all output has been written, writes the exit code
    to the pipe `writing`."""
    atexit.register(_release_output, writing)
    code: int = 0
    try:
        work()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        raise
    except BaseException:
        code = FAILED
        raise
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os.write(writing, bytes([code & 0xFF]))
    sys.exit(code)


def _release_output(writing: int) -> None:
    """Closes the output of this process and then the pipe `writing`. A program that reads the
    output then sees its end, even if this process cannot end. Called last when the interpreter
    exits."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(writing)


class Attendant:
    """Waits for a child process and passes signals on to it. Ends this process without the child if
    the kernel does not let the child end.

    `done` is the read end of the pipe to which the child writes its exit code.
    """

    def __init__(self, child: int, done: int, clock: Clock = REAL) -> None:
        self._child, self._done, self._clock = child, done, clock
        self._requests = StopRequests(clock)
        self._code: int | None = None
        self._is_done = False
        self._kill_at_s: float | None = None
        self._leave_at_s: float | None = None

    def status(self) -> int:
        """Waits until the child ends, and returns its wait status (as `os.waitpid` does). If not
        even SIGKILL ends the child, this process is ended instead and the function does not
        return."""
        while True:
            pid, status = os.waitpid(self._child, os.WNOHANG)
            if pid:
                return self._judged(status)
            self._read_code()
            now_s = self._clock.monotonic_s()
            if self._leave_at_s is not None and now_s >= self._leave_at_s:
                self._leave()
            if self._leave_at_s is None and self._kill_at_s is not None:
                self._kill_when_due(now_s)
            waited = signal.sigtimedwait({*PASSED_ON, *SUSPENDING, signal.SIGCHLD}, POLL_S)
            if waited is not None:
                self._pass_on(signal.Signals(waited.si_signo))

    def _judged(self, status: int) -> int:
        """Returns the wait status with which this process shall end. Usually this is the child's
        wait status `status`. If the child was killed after it had written its exit code to the
        pipe, the result is made from this exit code instead."""
        self._read_code()
        if self._code is not None and os.WIFSIGNALED(status) and self._leave_at_s is not None:
            return self._code << 8
        return status

    def _read_code(self) -> None:
        """Reads what has arrived in the pipe. The child first writes its exit code and later closes
        the pipe. The child is killed WORK_DONE_LIMIT_S seconds after the exit code, or EXIT_LIMIT_S
        seconds after the pipe was closed."""
        if not self._is_done and select.select([self._done], [], [], 0)[0]:
            written = os.read(self._done, 1)
            self._is_done = not written
            self._code = written[0] if written else self._code
            limit_s = WORK_DONE_LIMIT_S if written else EXIT_LIMIT_S
            self._kill_at_s = self._clock.monotonic_s() + limit_s

    def _kill_when_due(self, now_s: float) -> None:
        if self._kill_at_s is not None and now_s >= self._kill_at_s:
            os.kill(self._child, signal.SIGKILL)
            self._leave_at_s = now_s + LEAVE_AFTER_S

    def _pass_on(self, number: signal.Signals) -> None:
        if number in PASSED_ON:
            if not self._requests.is_new(number):
                return
            os.kill(self._child, number)
            if self._kill_at_s is None:
                self._kill_at_s = self._clock.monotonic_s() + STOP_LIMIT_S
        elif number == signal.SIGTSTP:
            os.kill(self._child, signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGSTOP)
        elif number == signal.SIGCONT:
            os.kill(self._child, signal.SIGCONT)

    def _leave(self) -> NoReturn:
        print(
            f"dfslab: process {self._child} is left behind: the kernel holds it in a call to a "
            "file system that does not answer, until that answers or is unmounted (umount -f)",
            file=sys.stderr,
            flush=True,
        )
        os._exit(self._code or FAILED)


def _end_by(number: signal.Signals) -> NoReturn:
    """Ends this process by the same signal that ended the child, but without another core dump."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    os._exit(128 + number)
