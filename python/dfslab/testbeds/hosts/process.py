"""Represents one process of this machine, and distinguishes it from a later process with the same
PID.

A process is identified by its PID, its start time in clock ticks since boot, and the identifier of
the boot. Signals are sent by a pidfd. After the pidfd is opened, the identity of the process is
checked, so that no signal is sent to another process that has the PID by now.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from dfslab.spec.clock import REAL, Clock
from dfslab.testbeds.errors import TestbedError

# Environment variable that all processes of a testbed inherit. Its value is the id of the testbed,
# by which the processes can be found.
MARK = "DFSLAB_BED"
# A paused process is stopped by a signal. A dead process has ended, whether reaped or not.
ProcessState = Literal["running", "paused", "dead"]
KILL_WAIT_S = 60.0
_PROC = Path("/proc")


def boot_id() -> str:
    """Returns the kernel's identifier of the current boot."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


@dataclass(frozen=True)
class LiveProcess:
    """A process that was alive when this object was created. The process may have ended since
    then."""

    pid: int
    start_ticks: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> LiveProcess:
        """Returns the process that has this PID now. Raises ProcessLookupError if there is none."""
        stat = _state_and_start(pid)
        if stat is None:
            raise ProcessLookupError(pid)
        return cls(pid, stat[1], boot_id())

    @classmethod
    def from_text(cls, text: str) -> LiveProcess:
        """Returns the process that `text` describes. Raises ValueError if the text has another
        form."""
        pid, start_ticks, boot = text.split(":")
        return cls(int(pid), int(start_ticks), boot)

    @property
    def text(self) -> str:
        """Returns the process as one word for a command line."""
        return f"{self.pid}:{self.start_ticks}:{self.boot}"

    def state(self) -> ProcessState:
        """Returns the state of the process."""
        stat = _state_and_start(self.pid)
        if stat is None or stat[1] != self.start_ticks or self.boot != boot_id():
            return "dead"
        if stat[0] in "ZX":
            return "dead"
        return "paused" if stat[0] in "Tt" else "running"

    def alive(self) -> bool:
        """Returns whether the process has not ended."""
        return self.state() != "dead"

    def signal(self, number: signal.Signals) -> bool:
        """Sends a signal to this process. Returns False if the process has ended."""
        handle = self._open()
        if handle is None:
            return False
        try:
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)
        return True

    def wait_end(self, timeout_s: float) -> bool:
        """Waits until the process has ended, but at most `timeout_s` seconds. Returns whether the
        process has ended."""
        handle = self._open()
        if handle is None:
            return True
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            return bool(poll.poll(max(0.0, timeout_s) * 1000.0))
        finally:
            os.close(handle)

    def children(self) -> list[LiveProcess]:
        """Returns the child processes of the process's main thread that have not been reaped."""
        if not self.alive():
            return []
        found = []
        with suppress(FileNotFoundError, ProcessLookupError):
            for pid in (_PROC / f"{self.pid}/task/{self.pid}/children").read_text().split():
                with suppress(ProcessLookupError):
                    found.append(LiveProcess.of(int(pid)))
        return found

    def resident_bytes(self) -> int:
        """Returns the resident memory of the process in bytes; 0 if the process has ended."""
        if self.alive():
            with suppress(psutil.NoSuchProcess):
                return int(psutil.Process(self.pid).memory_info().rss)
        return 0

    def _open(self) -> int | None:
        """Opens a pidfd of this process. Returns None if the process has ended."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return None
        # The pidfd now identifies one process, even if its PID is reused later. The start time is
        # compared after the pidfd was opened, so that an earlier reuse of the PID is detected.
        if self.alive():
            return handle
        os.close(handle)
        return None


def _state_and_start(pid: int) -> tuple[str, int] | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name is in parentheses and may itself contain blanks and parentheses. The fields
    # after it contain none, so the last closing parenthesis of the line ends the name.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])


def end(processes: Sequence[LiveProcess], grace_s: float, clock: Clock = REAL) -> None:
    """Ends processes: sends SIGTERM, waits up to `grace_s` seconds for all, then sends SIGKILL.

    Raises TestbedError if one stays alive.
    """
    for process in processes:
        process.signal(signal.SIGTERM)
        # A suspended process handles SIGTERM only after it is resumed.
        process.signal(signal.SIGCONT)
    deadline = clock.monotonic_s() + grace_s
    kill([p for p in processes if not p.wait_end(deadline - clock.monotonic_s())])


def kill(processes: Sequence[LiveProcess]) -> None:
    """Sends SIGKILL to processes and waits until they have ended.

    Raises TestbedError if one stays alive.
    """
    for process in processes:
        process.signal(signal.SIGKILL)
    for process in processes:
        if not process.wait_end(KILL_WAIT_S):
            raise TestbedError("state", f"process {process.pid}", "does not end, even by SIGKILL")


def marked(mark: str) -> list[LiveProcess]:
    """Returns every live process whose environment variable MARK has the value `mark`, except this
    process."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        # Processes that end while they are inspected are skipped. So are processes of other users,
        # which cannot be read.
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(LiveProcess.of(int(entry.name)))
    return [process for process in found if process.alive()]


def writing_below(folder: Path) -> list[LiveProcess]:
    """Returns every live process whose standard output or standard error is a file below `folder`,
    except this process.

    The function also finds a process that is just beginning to execute its program. `marked` does
    not find such a process, because the kernel does not yet show the environment of the process.
    The output of the process is already the log file.
    """
    inside = f"{os.path.realpath(folder)}/"
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        for output in ("1", "2"):
            with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                if os.readlink(entry / "fd" / output).startswith(inside):
                    found.append(LiveProcess.of(int(entry.name)))
                    break
    return [process for process in found if process.alive()]
