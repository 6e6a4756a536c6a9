"""Emulates one host by network, mount, UTS and PID namespaces. The host's first process keeps these
namespaces alive.

The first process is an init that reaps children. When it is killed, the kernel removes the host's
daemons, mounts and network adapters, so nothing of the host is left on the machine.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from dfslab.spec.clock import REAL, Clock
from dfslab.testbeds.daemon import Daemon, spawn, tied_to_owner
from dfslab.testbeds.errors import TestbedError, last_lines
from dfslab.testbeds.hosts.namespaces import in_network, prefix, rooted_at
from dfslab.testbeds.hosts.process import LiveProcess

IDLE = ["sleep", "infinity"]
# The first process of a host. This process adopts and reaps the orphaned processes of the host's
# PID namespace.
INIT = ["tini", "-s", "--", *IDLE]
FORK_WAIT_S = 60.0
COMMAND_LIMIT_S = 300.0
DATA_ADAPTER = "eth0"
Answer = TypeVar("Answer")


def child_of(pid: int, clock: Clock = REAL) -> int:
    """Returns the PID of the only child of process `pid`, which has just forked.

    Raises TestbedError if no child appears.
    """
    deadline = clock.monotonic_s() + FORK_WAIT_S
    while clock.monotonic_s() < deadline:
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError as error:
            raise TestbedError("died", f"process {pid}", "ended before it had a child") from error
        if children:
            return int(children[0])
        clock.sleep(0.002)
    raise TestbedError("not_ready", f"process {pid}", "has no child")


@dataclass
class Host:
    """A running emulated host.

    `init`: its first process. `folder`: its logs and data. `groups`: folders of its control groups.
    """

    name: str
    group: str
    address: str
    init: LiveProcess
    folder: Path
    env: Mapping[str, str]
    roles: Mapping[str, int] = field(default_factory=dict)
    groups: tuple[Path, ...] = ()

    @property
    def disk(self) -> Path:
        """Returns the mount point of the host's disk, inside the host."""
        return self.folder / "disk"

    def command(self, words: Sequence[str]) -> list[str]:
        """Returns the command line that runs `words` in this host, under the host's limits."""
        entering = [*prefix(self.init.pid), *words]
        if not self.groups:
            return entering
        # A process inherits its control groups from its parent, and keeps them when it enters
        # namespaces. So the shell first joins the control groups of the host.
        join = "".join(f"echo $$ > {shlex.quote(str(g))}/cgroup.procs; " for g in self.groups)
        return ["sh", "-c", f'{join}exec "$@"', self.name, *entering]

    def run(self, *words: str, text: str = "", limit_s: float = COMMAND_LIMIT_S) -> str:
        """Runs a command in the host to its end. `text` is its standard input. Returns its standard
        output.

        Raises TestbedError if the command fails or exceeds `limit_s` seconds.
        """
        what = f"{words[0]} on {self.name}"
        try:
            done = subprocess.run(
                self.command(words),
                input=text,
                capture_output=True,
                text=True,
                timeout=limit_s,
                env=dict(self.env),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise TestbedError("failed", what, f"not finished after {limit_s:g} s") from error
        if done.returncode:
            output = tuple((done.stderr + done.stdout).strip().splitlines()[-6:])
            raise TestbedError("failed", what, f"ended with status {done.returncode}", output)
        return done.stdout

    def tries(self, *words: str, limit_s: float = COMMAND_LIMIT_S) -> bool:
        """Runs a command in the host. Returns whether it succeeded."""
        try:
            self.run(*words, limit_s=limit_s)
        except TestbedError:
            return False
        return True

    def in_network(self, work: Callable[[], Answer]) -> Answer:
        """Runs `work` in the host's network namespace, on a thread of this process.

        Returns its result.
        """
        return in_network(self.init.pid, work)

    def path(self, inside: Path | str) -> Path:
        """Returns a path at which this process can open the host's file `inside`. This also works
        if the file is on a file system that only the host has mounted."""
        return rooted_at(self.init.pid, Path(inside))

    def mounted(self, inside: Path | str) -> bool:
        """Returns whether a file system is mounted at a path of the host.

        If a mount has failed, the path is a plain directory, and the result is false.
        """
        try:
            table = Path(f"/proc/{self.init.pid}/mountinfo").read_text()
        except OSError:
            return False
        return any(line.split()[4] == str(inside) for line in table.splitlines())

    def processes(self, name: str) -> list[LiveProcess]:
        """Returns the host's processes that run the program `name`."""
        own = os.readlink(f"/proc/{self.init.pid}/ns/pid")
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            # A process may end while it is inspected, so errors are ignored.
            with suppress(OSError):
                if (entry / "comm").read_text().strip() == name and os.readlink(
                    entry / "ns/pid"
                ) == own:
                    found.append(LiveProcess.of(int(entry.name)))
        return found

    def log(self, daemon: str) -> Path:
        """Returns the log file of one of the host's daemons."""
        return self.folder / f"{daemon}.log"


def hold(
    words: Sequence[str], log_path: Path, env: Mapping[str, str], owned: bool
) -> subprocess.Popen:
    """Starts a process that keeps namespaces alive. If `owned` is true, the started process ends
    when this process ends.

    `words` is a command that creates namespaces and then executes the program that keeps them
    alive. If there is no PID namespace, this program must not have a child process, because the
    child would outlive it. In a PID namespace, all processes end with the first process.
    """
    command = list(words)
    return spawn(tied_to_owner(command) if owned else command, log_path, env, Path("/"))


def launch_init(log_path: Path, env: Mapping[str, str], owned: bool) -> subprocess.Popen:
    """Starts `unshare`, which creates the namespaces of an emulated host and then starts the host's
    first process (INIT) as its only child.

    Returns the process of `unshare`, not that of INIT. If `owned` is true, `unshare` ends when this
    process ends.
    """
    words = [
        "unshare",
        "-m",
        "-u",
        "-i",
        "-n",
        "-p",
        "-f",
        "--kill-child=KILL",
        "--mount-proc",
        "--propagation",
        "private",
        *INIT,
    ]
    return hold(words, log_path, env, owned)


class HostDaemon(Daemon):
    """A daemon in a host.

    Signals are sent to the daemon itself, not to the command that entered the host and started the
    daemon.
    """

    def __init__(
        self,
        name: str,
        host: Host,
        words: Sequence[str],
        ready: Callable[[], bool],
        ready_deadline_s: float = 60.0,
    ) -> None:
        super().__init__(
            name,
            host.command(words),
            host.log(name),
            ready,
            host.env,
            Path("/"),
            owned=False,
            ready_deadline_s=ready_deadline_s,
        )
        self.host = host

    def launch(self) -> None:
        """Starts the command that enters the host, and finds the daemon's process, which is the
        child of this command."""
        super().launch()
        assert self._child is not None
        try:
            self.process = LiveProcess.of(child_of(self._child.pid))
        except (TestbedError, ProcessLookupError):
            status = self._child.wait(FORK_WAIT_S)
            raise TestbedError(
                "died",
                f"starting {self.name} on {self.host.name}",
                f"ended with status {status}",
                last_lines(self.log_path),
            ) from None

    def resume(self) -> None:
        """Resumes the daemon, and the command that entered the host, which was suspended with
        the daemon."""
        super().resume()
        assert self._child is not None
        LiveProcess.of(self._child.pid).signal(signal.SIGCONT)


class AdoptedDaemon(Daemon):
    """A daemon that another daemon started.

    The function `find` returns the daemon's process. The function `revive` starts the daemon again.
    """

    def __init__(
        self,
        name: str,
        host: Host,
        find: Callable[[], LiveProcess | None],
        revive: Callable[[], None],
    ) -> None:
        super().__init__(name, (), host.log(name), lambda: True, host.env, Path("/"), owned=False)
        self.host, self._find, self._revive = host, find, revive
        self.process = find()

    def launch(self) -> None:
        """Starts the daemon by `revive`, and waits until its process appears."""
        self._revive()
        deadline = self._clock.monotonic_s() + self.ready_deadline_s
        while (found := self._find()) is None or not found.alive():
            if self._clock.monotonic_s() > deadline:
                raise TestbedError("not_ready", f"starting {self.name}", "no such process appeared")
            self._clock.sleep(0.05)
        self.process = found
