"""The base class of testbeds whose file system is mounted by clients.

The servers start first, then the client hosts mount.
"""

from __future__ import annotations

import uuid
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path

from dfslab.spec.clock import REAL, Clock
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.testbeds.capabilities import Mounting
from dfslab.testbeds.errors import TestbedError, last_lines
from dfslab.testbeds.hosted import HostedTestbed
from dfslab.testbeds.hosts.host import Host

FIRST_WRITE_LIMIT_S = 300.0
CLIENT_STAGE = 9
POLL_S = 0.05


class MountedTestbed(HostedTestbed, Mounting):
    """A testbed whose clients mount the file system.

    The derived class implements `start_servers` and `mount`.
    """

    @abstractmethod
    def start_servers(self) -> None:
        """Starts all server daemons and waits until they serve."""

    @abstractmethod
    def mount(self, host: Host, point: Path) -> None:
        """Starts to mount the file system on a client host, at the empty directory `point`.

        The method may return before the file system is mounted.
        """

    def attached(self, host: Host) -> bool:
        """Returns whether the mount of a client host is present and reaches all servers."""
        return host.mounted(self.mount_point)

    def settle(self) -> None:
        """Applies settings that need a mounted file system. By default, there are none.

        The method is called after the first write.
        """

    def start(self) -> None:
        """Starts the servers and mounts the file system on all clients. Then waits until a client
        has written a first file and every client can read it, and applies the settings that need a
        mount."""
        self.start_servers()
        self.mount_point.mkdir()
        for host in self.clients:
            self.mount(host, self.mount_point)
        for host in self.clients:
            self._await_mount(host)
        self._await_first_write()
        self.settle()
        self._change_record(uri=f"{self.clients[0].name}:{self.mount_point}")

    @property
    def mount_point(self) -> Path:
        """Returns the mount point on every client host. On other hosts, this path is an empty
        folder."""
        return self.folder / "mnt"

    @property
    def endpoint(self) -> Endpoint:
        """Returns the mount point inside the client hosts. Raises TestbedError if a mount is
        lost."""
        self.check_mounts()
        return Endpoint(directory=str(self.mount_point))

    def is_running(self, daemon: str) -> bool:
        """Returns whether the daemon of this name runs and is not suspended. If another process
        started the testbed, the testbed's record identifies the process of the daemon. Raises
        TestbedError with the known names if there is no such daemon."""
        if self.daemons:
            return self.daemon(daemon).state() == "running"
        record = self._folder.read()
        processes = {one.name: one.process for one in record.daemons} if record else {}
        if daemon not in processes:
            known = ", ".join(processes)
            raise TestbedError(
                "state", f"testbed {self.name}", f"no daemon {daemon!r}; the daemons are {known}"
            )
        return processes[daemon].state() == "running"

    def check_mounts(self) -> None:
        """Raises TestbedError if a client has lost its mount, its client process is dead, or its
        mount does not answer.

        Without a mount, a plain directory would be measured. A client process dies, for example, if
        it exceeds the memory limit of its host.
        """
        for host in self.clients:
            if not host.mounted(self.mount_point):
                raise TestbedError(
                    "state", f"{self.name} on {host.name}", "is not mounted any more"
                )
            client = self.daemons.get(f"mount-{host.name}")
            if client is not None and client.state() == "dead":
                raise TestbedError(
                    "died",
                    f"{self.name} on {host.name}",
                    "its client has ended",
                    last_lines(host.log(client.name)),
                )
            # A client process that is being killed still exists, but its mount does not answer.
            if not host.tries("stat", str(self.mount_point)):
                raise TestbedError(
                    "state", f"{self.name} on {host.name}", "its mount does not answer"
                )

    def _await_mount(self, host: Host, clock: Clock = REAL) -> None:
        daemon = self.daemons.get(f"mount-{host.name}")
        # The time limit is FIRST_WRITE_LIMIT_S, or the time limit of the client daemon if that is
        # longer, for example because the daemon starts a JVM.
        limit_s = max(FIRST_WRITE_LIMIT_S, daemon.ready_deadline_s if daemon else 0.0)
        deadline = clock.monotonic_s() + limit_s
        while not self.attached(host):
            if daemon is not None:
                daemon.check_alive()
            if clock.monotonic_s() > deadline:
                raise TestbedError(
                    "not_ready",
                    f"mounting on {host.name}",
                    "no mount appeared that reaches all servers",
                )
            clock.sleep(POLL_S)

    def _await_first_write(self) -> None:
        """Waits until all clients can read a file that one client wrote, which shows that the file
        system serves clients.

        Raises TestbedError after the time limit.
        """
        name, text = f".dfslab-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
        first = self.clients[0]
        path = f"{self.mount_point}/{name}"
        script = f"printf {text} > {path} && sync {path} && cat {path}"
        _until("the first write", lambda: first.run("sh", "-c", script) == text)
        for host in self.clients[1:]:
            _until(f"the first read on {host.name}", partial(_reads, host, path, text))
        first.run("rm", path)


def _reads(host: Host, path: str, text: str) -> bool:
    return host.run("cat", path) == text


def _until(what: str, work: Callable[[], bool], clock: Clock = REAL) -> None:
    """Repeats `work` until it returns true.

    Raises TestbedError with the last error of `work` after the time limit.
    """
    deadline = clock.monotonic_s() + FIRST_WRITE_LIMIT_S
    output = "the file system gave a wrong answer"
    while clock.monotonic_s() < deadline:
        try:
            if work():
                return
        except TestbedError as error:
            output = str(error)
        clock.sleep(POLL_S)
    raise TestbedError("not_ready", what, output)
