"""A file system that its clients mount: servers first, then a mount on every client host."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dfslab.beds.errors import BedError, last_lines
from dfslab.beds.host import Host
from dfslab.beds.hosted import HostedBed

FIRST_WRITE_LIMIT_S = 300.0
CLIENT_STAGE = 9
POLL_S = 0.05


class MountedBed(HostedBed):
    """A bed whose `start_servers` and `mount` are its own."""

    def start_servers(self) -> None:
        """Start all daemons and wait until they serve."""
        raise NotImplementedError

    def mount(self, host: Host, point: Path) -> None:
        """Start mounting on a client host; `point` is an empty directory."""
        raise NotImplementedError

    def attached(self, host: Host) -> bool:
        """Whether a client host has its mount, and that reaches all servers."""
        return host.mounted(self.mount_point)

    def settle(self) -> None:
        """After the first write: what is configured on the mounted file system."""

    def counters(self) -> dict[str, str]:
        """What its processes have counted: a name each, and a text as `counters.py` reads it."""
        return {}

    @contextmanager
    def tracing(self, folder: Path) -> Iterator[None]:
        """Meanwhile single calls are kept, where the system can; `folder` gets them as traces."""
        yield

    def start(self) -> None:
        """Servers, mounts, and a first write that every client can read."""
        self.start_servers()
        self.mount_point.mkdir()
        for host in self.clients:
            self.mount(host, self.mount_point)
        for host in self.clients:
            self._await_mount(host)
        self._await_first_write()
        self.settle()
        self._now(uri=f"{self.clients[0].name}:{self.mount_point}")

    @property
    def mount_point(self) -> Path:
        """Where every client host has the file system; an empty folder elsewhere."""
        return self.folder / "mnt"

    @property
    def access(self) -> dict[str, Any]:
        """How a load inside a client host reaches it."""
        self.check_mounts()
        return {"directory": str(self.mount_point)}

    def check_mounts(self) -> None:
        """BedError when a client has lost its mount (a plain directory would be measured), or is
        dead behind it, as one that wanted more memory than its host has."""
        for host in self.clients:
            if not host.mounted(self.mount_point):
                raise BedError("state", f"{self.name} on {host.name}", "is not mounted any more")
            client = self.daemons.get(f"mount-{host.name}")
            if client is not None and client.state() == "dead":
                raise BedError(
                    "died",
                    f"{self.name} on {host.name}",
                    "its client has ended",
                    last_lines(host.log(client.name)),
                )
            # A client that is just being killed still has a process, and answers nothing.
            if not host.tries("stat", str(self.mount_point)):
                raise BedError("state", f"{self.name} on {host.name}", "its mount does not answer")

    def _await_mount(self, host: Host) -> None:
        daemon = self.daemons.get(f"mount-{host.name}")
        # A client that says how long it may take has reasons, such as a Java machine to start.
        limit_s = max(FIRST_WRITE_LIMIT_S, daemon.ready_deadline_s if daemon else 0.0)
        deadline = time.monotonic() + limit_s
        while not self.attached(host):
            if daemon is not None and daemon.state() == "dead":
                daemon.ready = lambda: False
                daemon.wait_ready()
            if time.monotonic() > deadline:
                raise BedError(
                    "not_ready",
                    f"mounting on {host.name}",
                    "no mount appeared that reaches all servers",
                )
            time.sleep(POLL_S)

    def _await_first_write(self) -> None:
        """Only a file that was written and is seen by all shows that the file system serves."""
        name, text = f".dfslab-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
        first = self.clients[0]
        path = f"{self.mount_point}/{name}"
        script = f"printf {text} > {path} && sync {path} && cat {path}"
        _until("the first write", lambda: first.run("sh", "-c", script) == text)
        for host in self.clients[1:]:
            _until(
                f"the first read on {host.name}", lambda host=host: host.run("cat", path) == text
            )
        first.run("rm", path)


def _until(what: str, work: Any) -> None:
    """Try until it is true; BedError with what it said last when it never is."""
    deadline = time.monotonic() + FIRST_WRITE_LIMIT_S
    said = "it gave another answer"
    while time.monotonic() < deadline:
        try:
            if work():
                return
        except BedError as error:
            said = str(error)
        time.sleep(POLL_S)
    raise BedError("not_ready", what, said)
