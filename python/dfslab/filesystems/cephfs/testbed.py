"""Starts a testbed of CephFS: monitor, manager and metadata server on one host, OSDs on the
others.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from dfslab.documents.document import Document
from dfslab.filesystems.cephfs import ceph_json, client_cache, tracked_calls
from dfslab.spec import clock
from dfslab.testbeds.capabilities import CachingClients, Counting
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.host import Host
from dfslab.testbeds.mounted import CLIENT_STAGE, MountedTestbed

Answer = TypeVar("Answer", bound=Document)
DATA_POOL, METADATA_POOL = "cephfs_data", "cephfs_meta"
OSD_LIMIT_S = 300.0
MOST_OPERATIONS = 20_000
LEAST_BLOCK_BYTES = 3 << 30
MEMORY_TARGET_BYTES = 939524096


class Testbed(MountedTestbed, Counting, CachingClients):
    """A running CephFS; `with Testbed.up({...}) as testbed:` stops it at the end."""

    SYSTEM = "cephfs"
    PROGRAMS = {
        "ceph-mon": "ceph-mon",
        "ceph-mgr": "ceph-mgr",
        "ceph-osd": "ceph-osd",
        "ceph-mds": "ceph-mds",
        "ceph-fuse": "ceph-fuse",
        "ceph": "ceph-common",
        "setfattr": "attr",
    }
    OPTIONS = {"object_store": ("bluestore", "memstore")}

    def start_servers(self) -> None:
        """Starts monitor and manager, then all OSDs concurrently, then creates the pools and starts
        the metadata server.
        """
        self._fsid = str(uuid.uuid4())
        self._configure()
        for host in self.hosts.hosts:
            host.run("mkdir", "-p", "/run/ceph")
        master = self._master
        self._make_monitor(master)
        # Monitor, manager and metadata server run on the metadata role's host, because a client
        # contacts the metadata server for every name.
        mon = self.run_in(master, "mon", self._words("ceph-mon", "a"), self._monitor_serves, 0)
        mon.wait_ready()
        self.run_in(master, "mgr", self._words("ceph-mgr", "x"), lambda: True, 1)
        self._start_osds()
        self._make_pools()
        mds = self.run_in(master, "mds", self._words("ceph-mds", "a"), self._mds_active, 3)
        mds.wait_ready()
        version = master.run("ceph", "--version").split()[2]
        self._change_record(versions={"ceph": version})

    def mount(self, host: Host, point: Path) -> None:
        """Starts a FUSE client in the foreground on `host`, which mounts CephFS at `point`."""
        words = ["ceph-fuse", "-f", "-c", str(self._file), str(point)]
        self.run_in(host, f"mount-{host.name}", words, lambda: host.mounted(point), CLIENT_STAGE)

    def settle(self) -> None:
        """Sets the layout of new files below the mount to the layout in the testbed's parameters.
        If the parameters have no layout, the default of CephFS stays."""
        keys = ("stripe_unit", "stripe_count", "object_size")
        given = {key: int(self.parameters[key]) for key in keys if key in self.parameters}
        layout = " ".join(f"{key}={value}" for key, value in given.items())
        if layout:
            self.clients[0].run(
                "setfattr",
                "-n",
                "ceph.dir.layout",
                "-v",
                f"{layout} pool={DATA_POOL}",
                str(self.mount_point),
            )

    def lacking(self) -> str:
        """Returns the number of placement groups in each state, as text. The text is "" if all
        groups are active and clean. If Ceph reports no states yet, the text says that they are
        unknown."""
        groups = self._queried(ceph_json.PlacementStatus, "status").groups
        states = {one.name: one.count for one in groups.states}
        if states and states.get("active+clean", 0) == groups.count:
            return ""
        reply = ", ".join(f"{count} {state}" for state, count in states.items())
        return f"placement groups: {reply or 'unknown'}"

    def counters(self) -> dict[str, str]:
        """Returns all perf counters of OSDs and metadata server since their start."""
        return {
            name: self._daemon_command(host, name, "perf", "dump")
            for name, host in self._answering.items()
        }

    def empty_caches(self) -> None:
        """Empties the caches of the OSDs, which hold data of their disks. The page cache holds none
        of this data, because OSDs read their disks with direct I/O."""
        for number, host in enumerate(self.hosts.of("osd")):
            # Only running OSDs get the command. An OSD that a fault has killed caches nothing, and
            # an OSD that a fault has suspended does not answer.
            if self.is_running(f"osd-{number + 1}"):
                self._daemon_command(host, f"osd.{number}", "cache", "drop")

    def empty_client_caches(self) -> None:
        """Makes every client process (ceph-fuse) drop its cache of names and file data (by default
        at most 200 MiB of data). Raises TestbedError if a client process does not answer."""
        for host in self.clients:
            # A client process drops neither unsent data nor names that the kernel uses. `sync`
            # therefore first sends the data to the object stores. Looking for the files makes the
            # kernel use their names, so the kernel's caches of names are dropped afterwards.
            files = "find", str(self.mount_point), "-type", "f"
            host.run(*files, "-exec", "sync", "{}", "+")
            host.run("sh", "-c", "echo 2 > /proc/sys/vm/drop_caches")
            client_cache.empty(partial(self._daemon_command, host, "client.admin"))

    @contextmanager
    def tracing(self, folder: Path) -> Iterator[None]:
        """Records the last operations of each daemon during the `with` block. Ceph's OpTracker
        keeps the last MOST_OPERATIONS operations of a daemon instead of twenty. At the end of the
        block, those operations that began in it are written to `folder` as spans. The operations of
        several OSDs for one write form one tree.

        Newer operations replace older operations. Of a long command, only the last operations are
        therefore recorded.
        """
        for name, host in self._answering.items():
            kind = name.partition(".")[0]
            self._daemon_command(
                host, name, "config", "set", f"{kind}_op_history_size", str(MOST_OPERATIONS)
            )
        began = clock.date().isoformat()
        yield
        replies: dict[str, ceph_json.TrackedOperations] = {}
        for name, host in self._answering.items():
            given: ceph_json.TrackedOperations = json.loads(
                self._daemon_command(host, name, "dump_historic_ops")
            )
            given["ops"] = [one for one in given["ops"] if one["initiated_at"] >= began]
            replies[name] = given
        if any(reply["ops"] for reply in replies.values()):
            text = tracked_calls.written(replies)
            (folder / "calls.trace").write_text(text, encoding="utf-8")

    @property
    def _answering(self) -> dict[str, Host]:
        """Returns all OSDs and the metadata server, which execute commands that are sent to their
        sockets. The keys are Ceph's names of these daemons, such as "osd.0"; the values are the
        hosts on which they run."""
        stores = {f"osd.{number}": host for number, host in enumerate(self.hosts.of("osd"))}
        return {**stores, "mds.a": self._master}

    def _daemon_command(self, host: Host, name: str, *words: str) -> str:
        return host.run("ceph", "daemon", f"/run/ceph/ceph-{name}.asok", *words)

    @property
    def _master(self) -> Host:
        return self.hosts.of("mds")[0]

    @property
    def _file(self) -> Path:
        return self.folder / "ceph.conf"

    @property
    def _copies(self) -> int:
        """Returns the number of OSDs that hold a copy or fragment of each object."""
        return int(self.parameters["copies"])

    @property
    def _fragments(self) -> int:
        return int(self.parameters["data_fragments"])

    def _configure(self) -> None:
        address = self._master.address
        size = self._copies if self._fragments == 1 else self._copies - self._fragments + 1
        capacity = min(group.disk.capacity for group in self.hosts.deployment.groups_of("osd"))
        block = max(LEAST_BLOCK_BYTES, int(capacity * 0.8))
        settings = {
            "fsid": self._fsid,
            "mon_host": address,
            "public_network": f"{address}/24",
            "auth_cluster_required": "none",
            "auth_service_required": "none",
            "auth_client_required": "none",
            "osd_pool_default_size": size,
            "osd_pool_default_min_size": 1,
            "osd_pool_default_pg_autoscale_mode": "off",
            "mon_allow_pool_size_one": "true",
            "osd_objectstore": self.parameters["object_store"],
            "bluestore_block_size": block,
            "memstore_device_bytes": 2 << 30,
            "osd_memory_target": MEMORY_TARGET_BYTES,
            "mgr_initial_modules": "",
            "mon_warn_on_pool_no_redundancy": "false",
            "osd_heartbeat_grace": 10,
            "mon_osd_down_out_interval": 20,
            "mon_data_avail_crit": 1,
            "admin_socket": "/run/ceph/$cluster-$name.asok",
            "run_dir": "/run/ceph",
            "pid_file": "/run/ceph/$name.pid",
            "log_file": f"{self.folder}/ceph-$name.log",
            "crash_dir": f"{self.folder}/crash",
            "mon_cluster_log_file": f"default={self.folder}/ceph-$channel.log "
            f"cluster={self.folder}/ceph-cluster.log",
        }
        lines = "".join(f"{key} = {value}\n" for key, value in settings.items())
        self._file.write_text(f"[global]\n{lines}")

    def _words(self, command: str, name: str) -> list[str]:
        words = [command, "-f", "-i", name, "-c", str(self._file)]
        if command == "ceph-mon":
            words += ["--mon-data", str(self._master.folder / "mon")]
        return words

    def _make_monitor(self, host: Host) -> None:
        table, data = host.folder / "monmap", host.folder / "mon"
        address = f"[v2:{host.address}:3300,v1:{host.address}:6789]"
        host.run("monmaptool", "--create", "--fsid", self._fsid, "--addv", "a", address, str(table))
        host.run(
            "ceph-mon",
            "--mkfs",
            "-i",
            "a",
            "--monmap",
            str(table),
            "-c",
            str(self._file),
            "--mon-data",
            str(data),
        )

    def _start_osds(self) -> None:
        """Starts all OSDs concurrently. In one command, each OSD formats its store and then
        serves.
        """
        for number, host in enumerate(self.hosts.of("osd")):
            identity = str(uuid.uuid4())
            self._ceph("osd", "new", identity, str(number))
            data = host.disk / f"osd-{number}"
            common = f"ceph-osd -i {number} --osd-data {data} -c {self._file}"
            script = (
                f"mkdir -p {data} && test -e {data}/ready || "
                f"{{ {common} --mkfs --osd-uuid {identity} && touch {data}/ready; }} && "
                f"exec {common} -f --crush-location 'root=default host={host.name}'"
            )
            self.run_in(
                host,
                f"osd-{number + 1}",
                ["sh", "-c", script],
                partial(self._osd_up, number),
                2,
                OSD_LIMIT_S,
            )
        for name, daemon in self.daemons.items():
            if name.startswith("osd-"):
                daemon.wait_ready()

    def _make_pools(self) -> None:
        groups = str(int(self.parameters["placement_groups"]))
        self._ceph("osd", "pool", "create", METADATA_POOL, "8")
        if self._fragments > 1:
            k, m = self._fragments, self._copies - self._fragments
            self._ceph(
                "osd",
                "erasure-code-profile",
                "set",
                "dfslab",
                f"k={k}",
                f"m={m}",
                "crush-failure-domain=host",
            )
            self._ceph("osd", "pool", "create", DATA_POOL, groups, groups, "erasure", "dfslab")
            self._ceph("osd", "pool", "set", DATA_POOL, "allow_ec_overwrites", "true")
            self._ceph("fs", "new", "cephfs", METADATA_POOL, DATA_POOL, "--force")
            return
        self._ceph("osd", "pool", "create", DATA_POOL, groups)
        self._ceph("fs", "new", "cephfs", METADATA_POOL, DATA_POOL)

    def _ceph(self, *words: str) -> str:
        return self._master.run("ceph", "-c", str(self._file), "--connect-timeout", "20", *words)

    def _queried(self, kind: type[Answer], *words: str) -> Answer:
        """Returns Ceph's reply to a command as an object of `kind`. If the command fails or its
        reply cannot be converted, the fields of the object have their defaults."""
        try:
            return kind.model_validate_json(self._ceph(*words, "--format", "json"))
        except (TestbedError, ValueError):
            return kind()

    def _monitor_serves(self) -> bool:
        return bool(self._queried(ceph_json.Quorum, "quorum_status").members)

    def _osd_up(self, number: int) -> bool:
        known = self._queried(ceph_json.OsdDump, "osd", "dump").osds
        return any(one.number == number and one.is_up for one in known)

    def _mds_active(self) -> bool:
        ranks = self._queried(ceph_json.FsStatus, "fs", "status").ranks
        if not ranks:
            systems = self._queried(ceph_json.FsDump, "fs", "dump").file_systems
            servers = [server for one in systems for server in one.servers.info.values()]
            return any(server.state == "up:active" for server in servers)
        return any(rank.state == "active" for rank in ranks)
