"""Starts a testbed of GlusterFS: glusterd on server hosts, bricks on their disks, mounts on
clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from dfslab.documents.measured_load import ServerCalls, ServerCounts
from dfslab.filesystems.glusterfs import call_samples, sampling
from dfslab.filesystems.glusterfs.facts import PARAMETERS
from dfslab.spec.clock import REAL, Clock
from dfslab.testbeds.capabilities import Counting, WarmUp
from dfslab.testbeds.errors import TestbedError, last_lines
from dfslab.testbeds.hosts.host import AdoptedDaemon, Host
from dfslab.testbeds.hosts.process import LiveProcess
from dfslab.testbeds.hosts.threads import threads
from dfslab.testbeds.mounted import CLIENT_STAGE, MountedTestbed

VOLUME = "dfslab"
SOCKET = "/run/glusterd.socket"
# The program gsyncd, which a new glusterd runs to write defaults of geo-replication. This program
# starts twenty Python processes, which take seconds on each host. No testbed uses geo-replication.
# On hosts of a testbed, the program is therefore replaced by one that only prints its name.
GSYNCD = "/usr/lib*/*/glusterfs/gsyncd /usr/libexec/glusterfs/gsyncd"
CONNECT_LIMIT_S = 120.0
# A parameter whose source begins with one of these prefixes is a volume option, such as
# "performance.quick-read".
OPTION_PREFIXES = ("performance.", "features.", "cluster.", "client.", "server.", "network.")


class Testbed(MountedTestbed, Counting):
    """A running GlusterFS volume; `with Testbed.up({...}) as testbed:` stops it at the end."""

    SYSTEM = "glusterfs"
    PROGRAMS = {"glusterd": "glusterfs-server", "glusterfs": "glusterfs-client"}
    OPTIONS = {"profile": True}
    NOT_SET = frozenset({"request_size"})
    # GlusterFS has no JIT compiler, so a warm-up only has to open connections.
    WARM_UP = WarmUp(file_bytes=1 << 17, limit_s=3.0)

    def start_servers(self) -> None:
        """Starts glusterd on all servers, joins them to one cluster, and creates the volume with
        its options.
        """
        servers = self.servers
        for host in servers:
            self._start_glusterd(host)
        with threads(len(servers)) as pool:
            list(pool.map(lambda h: self.daemons[f"glusterd-{h.name}"].wait_ready(), servers))
        for host in servers[1:]:
            self._gluster("peer", "probe", host.address)
        self._await_peers()
        self._gluster("volume", "create", VOLUME, *self._layout(), *self._bricks())
        changed = [word for pair in self._options().items() for word in pair]
        if changed:
            self._gluster("volume", "set", VOLUME, *changed)
        self._gluster("volume", "start", VOLUME)
        self._adopt_bricks()
        if self.parameters["profile"]:
            self._gluster("volume", "profile", VOLUME, "start")
        version = servers[0].run("glusterd", "--version").split()[1]
        self._change_record(versions={"glusterfs": version})

    def mount(self, host: Host, point: Path) -> None:
        """Starts a FUSE client in the foreground on `host`, which mounts the volume at `point`."""
        if not _log_folder(host).is_dir():
            self._use_private_folders(host)
        words = [
            "glusterfs",
            "--no-daemon",
            f"--volfile-server={self.servers[0].address}",
            f"--volfile-id=/{VOLUME}",
            f"--log-file={host.log('mount')}",
            str(point),
        ]
        self.run_in(host, f"mount-{host.name}", words, lambda: host.mounted(point), CLIENT_STAGE)

    def attached(self, host: Host) -> bool:
        """Returns whether every brick has accepted the connection of the mount on `host`.

        A mount already serves calls while some connections are missing. A file that is created in
        this time is missing on the bricks without a connection. On a dispersed volume, the bricks'
        fragments of a file then differ, which causes I/O errors.
        """
        connections = f"{self.mount_point}/.meta/graphs/active/{VOLUME}-client-*/private"
        count = f"grep -l '^connected = 1' {connections} | wc -l"
        command = f'test "$({count})" -eq {len(self._bricks())}'
        return super().attached(host) and host.tries("sh", "-c", command)

    @property
    def servers(self) -> list[Host]:
        """Returns the hosts that have bricks. A host with several bricks is listed once."""
        return list({host.name: host for host in self.hosts.of("brick")}.values())

    def pending_heals(self) -> int:
        """Returns the number of entries (files and directories) that must be healed because a brick
        lacks them or has an old version.

        The number is 0 if each file has only one copy. A brick that does not answer counts as one
        entry. An unreadable number also counts as one entry.
        """
        if self.parameters["copies"] == 1:
            return 0
        reply = self._gluster("volume", "heal", VOLUME, "info", "summary", "--xml")
        bricks = list(ElementTree.fromstring(reply).iter("brick"))
        counts = [
            brick.findtext("totalNumberOfEntries", "")
            for brick in bricks
            if brick.findtext("status") == "Connected"
        ]
        away = len(bricks) - len(counts)
        return away + sum(int(count) if count.isdigit() else 1 for count in counts)

    def lacking(self) -> str:
        """Returns a text with the number of entries that must be healed. Returns "" if there are
        none. A brick that does not answer counts as one entry."""
        return f"{left} entries to heal" if (left := self.pending_heals()) else ""

    def observe(self) -> dict[str, ServerCounts]:
        """Returns calls, mean latency and bytes of every brick since the previous call of this
        method. The result is empty if the testbed's parameter `profile` is off."""
        if not self.parameters["profile"]:
            return {}
        reply = self._gluster("volume", "profile", VOLUME, "info", "incremental", "--xml")
        return profile(reply)

    def counters(self) -> dict[str, str]:
        """Returns the calls of every brick since its volume started, as XML under the key "bricks".
        The result is empty if the testbed's parameter `profile` is off. The interval that `observe`
        reports is not reset."""
        if not self.parameters["profile"]:
            return {}
        return {"bricks": self._gluster("volume", "profile", VOLUME, "info", "peek", "--xml")}

    @contextmanager
    def tracing(self, folder: Path) -> Iterator[None]:
        """Records the calls of clients and bricks while the `with` block runs, and writes them to
        `folder` as spans. Does nothing if the testbed's parameter `profile` is off.

        At most the last SAMPLES calls of each process are written. The bricks' counters are reset
        before the block. Their minimum and maximum latencies are then those of the block.
        """
        if not self.parameters["profile"]:
            yield
            return
        self._gluster("volume", "profile", VOLUME, "info", "clear")
        with sampling.sampled(self._volume_options, self._dumps()) as calls:
            yield
        if calls:
            text = call_samples.written(calls, sampling.unix_offset_ns())
            (folder / "calls.trace").write_text(text, encoding="utf-8")

    @property
    def _volume_options(self) -> sampling.VolumeOptions:
        def change(given: dict[str, str]) -> None:
            self._gluster(
                "volume", "set", VOLUME, *(word for pair in given.items() for word in pair)
            )

        def reset(keys: Sequence[str]) -> None:
            for key in keys:
                self._gluster("volume", "reset", VOLUME, key)

        option = f"{self.mount_point}/.meta/graphs/active/{VOLUME}/options/ios-sample-interval"
        return sampling.VolumeOptions(
            change,
            reset,
            lambda: all(host.tries("grep", "-qx", "1", option) for host in self.clients),
        )

    def _dumps(self) -> list[sampling.Dumps]:
        """Returns where the processes of clients and bricks write their samples."""
        clients = [
            sampling.Dumps(
                call_samples.CLIENT,
                host.name,
                _log_folder(host) / "samples",
                f"glusterfs_{VOLUME}.samp",
            )
            for host in self.clients
        ]
        bricks = [
            sampling.Dumps(
                call_samples.BRICK,
                host.name,
                _log_folder(host) / "samples",
                "glusterfsd_*.samp",
                host.roles["brick"],
            )
            for host in self.servers
        ]
        return [*clients, *bricks]

    def _use_private_folders(self, host: Host) -> None:
        """Hides the machine's folders of GlusterFS from the processes of the host. For this
        purpose, empty folders are mounted over them, which are in the host's folder."""
        library, log = host.folder / "glusterd", _log_folder(host)
        library.mkdir()
        log.mkdir()
        host.run(
            "sh",
            "-c",
            f"mount --bind {library} /var/lib/glusterd && mount --bind {log} /var/log/glusterfs",
        )

    def _start_glusterd(self, host: Host) -> None:
        none = host.folder / "gsyncd"
        self._use_private_folders(host)
        none.write_text("#!/bin/sh\necho gsyncd\n", encoding="utf-8")
        none.chmod(0o755)
        host.run(
            "sh",
            "-c",
            "mkdir -p /run/gluster && "
            f"for one in {GSYNCD}; do test ! -e $one || mount --bind {none} $one; "
            "done",
        )
        words = ["glusterd", "--no-daemon", f"--log-file={host.log('glusterd')}"]
        # If `gluster` is called before the daemon listens, it waits ten seconds before it retries.
        # The command therefore tests first whether the daemon's socket exists.
        command = f"test -S {SOCKET} && gluster --mode=script pool list"
        self.run_in(
            host, f"glusterd-{host.name}", words, lambda: host.tries("sh", "-c", command), 0
        )

    def _await_peers(self, clock: Clock = REAL) -> None:
        """Waits until every server has all other servers in its cluster. This is required to create
        a volume.

        The state in the output of `peer status` is read. A server that `pool list` shows as
        connected may still be exchanging its identity.
        """
        deadline = clock.monotonic_s() + CONNECT_LIMIT_S

        def connected(host: Host) -> None:
            while (peers := host.run("gluster", "--mode=script", "peer", "status")).count(
                "Peer in Cluster (Connected)"
            ) < len(self.servers) - 1:
                if clock.monotonic_s() > deadline:
                    raise TestbedError(
                        "not_ready",
                        "connecting peers",
                        f"{host.name} sees {peers}",
                        last_lines(host.log("glusterd")),
                    )
                clock.sleep(0.1)

        with threads(len(self.servers)) as pool:
            list(pool.map(connected, self.servers))

    def _gluster(self, *words: str, clock: Clock = REAL) -> str:
        """Runs a `gluster` command on the first server and returns its output. While the daemon is
        too busy to connect, the command is retried for up to CONNECT_LIMIT_S seconds. Raises
        TestbedError if the command fails.
        """
        deadline = clock.monotonic_s() + CONNECT_LIMIT_S
        while True:
            try:
                return self.servers[0].run("gluster", "--mode=script", *words)
            except TestbedError as error:
                if "Connection failed" not in str(error) or clock.monotonic_s() > deadline:
                    log = last_lines(self.servers[0].log("glusterd"))
                    raise TestbedError(
                        error.kind, error.operation, error.context, (*error.log_lines, *log)
                    ) from error
                clock.sleep(0.5)

    def _layout(self) -> list[str]:
        """Returns the arguments of `volume create` that make a volume dispersed or replicated. The
        list is empty for a volume with neither copies nor fragments."""
        copies, fragments = (int(self.parameters[key]) for key in ("copies", "data_fragments"))
        if fragments > 1:
            return ["disperse", str(copies), "redundancy", str(copies - fragments)]
        return ["replica", str(copies)] if copies > 1 else []

    def _bricks(self) -> list[str]:
        """Returns every brick in an order in which neighbours are on different hosts, so that
        copies of data are on different hosts.
        """
        hosts = self.hosts.of("brick")
        numbers = {host.name: 0 for host in hosts}
        most = max(host.roles["brick"] for host in hosts)
        bricks = []
        for turn in range(1, most + 1):
            for host in self.servers:
                if host.roles["brick"] >= turn:
                    numbers[host.name] += 1
                    bricks.append(f"{host.address}:{host.disk}/brick-{numbers[host.name]}")
        return bricks

    def _options(self) -> dict[str, str]:
        """Returns the values of volume options as text, by the name of the option.

        Only options whose values differ from the defaults in dfslab's description of GlusterFS are
        included. The option for the client's threads is always included, because its default
        depends on the volume: it is off for a replicated volume.
        """
        found = {}
        for parameter in PARAMETERS.of_origin("filesystem").values():
            if parameter.source.startswith(OPTION_PREFIXES):
                value = self.number(parameter.key)
                if value != parameter.default or parameter.key == "client_io_threads":
                    found[parameter.source] = _text(value, parameter)
        return found

    def _adopt_bricks(self) -> None:
        for host in self.servers:
            for number in range(1, host.roles["brick"] + 1):
                name = f"brick-{host.name}" + (f"-{number}" if host.roles["brick"] > 1 else "")
                directory = f"{host.disk}/brick-{number}"
                find = partial(_brick_process, host, directory)
                daemon = AdoptedDaemon(name, host, find, self._start_bricks)
                log = directory.strip("/").replace("/", "-") + ".log"
                daemon.log_path = host.folder / "gluster-log/bricks" / log
                self.adopt(daemon, stage=1)

    def _start_bricks(self) -> None:
        """Starts the bricks that are not running."""
        self._gluster("volume", "start", VOLUME, "force")


def _log_folder(host: Host) -> Path:
    """Returns the folder that GlusterFS' processes on `host` find at /var/log/glusterfs."""
    return host.folder / "gluster-log"


def _text(value: float, parameter: Any) -> str:
    """Returns the value of a volume option as text. Switches are "on" or "off", and sizes are in
    bytes."""
    if parameter.choices == (0.0, 1.0):
        return "on" if value else "off"
    return str(int(value))


def _brick_process(host: Host, directory: str) -> LiveProcess | None:
    """Returns the process of the brick that stores its data in `directory`. Returns None when there
    is none.
    """
    for process in host.processes("glusterfsd"):
        try:
            words = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if directory.encode() in words:
            return process
    return None


def profile(text: str) -> dict[str, ServerCounts]:
    """Parses the output of `volume profile … info --xml`. Returns the counts of each brick by its
    name: the calls and latency of each operation, and the bytes."""
    found = {}
    for brick in ElementTree.fromstring(text).iter("brick"):
        stats = brick.find("intervalStats")
        name = brick.findtext("brickName", "")
        if stats is None or not name:
            continue
        operations = {
            one.findtext("name", ""): ServerCalls(
                calls=int(one.findtext("hits", "0")),
                latency_s_mean=float(one.findtext("avgLatency", "0")) / 1e9,
            )
            for one in stats.iter("fop")
        }
        found[name] = ServerCounts(
            operations=operations,
            read_bytes=int(stats.findtext("totalRead", "0")),
            written_bytes=int(stats.findtext("totalWrite", "0")),
        )
    return found
