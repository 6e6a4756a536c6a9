"""Starts a testbed of Alluxio: a master, workers with memory tiers on hosts, FUSE mounts on
clients.
"""

from __future__ import annotations

import ctypes
import os
import re
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar
from urllib.error import HTTPError

from pydantic import Field, JsonValue

from dfslab.documents.document import Document
from dfslab.filesystems.alluxio import under_hdfs
from dfslab.filesystems.alluxio.facts import PARAMETERS
from dfslab.filesystems.alluxio.under_hdfs import UnderHdfs
from dfslab.notify import Notify
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.parameters import Parameter
from dfslab.spec.units import parse
from dfslab.testbeds.cache import maven_jars, program
from dfslab.testbeds.capabilities import Traceable, WarmUp
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.host import Host
from dfslab.testbeds.java_agent import agent_jar, java_option
from dfslab.testbeds.mounted import CLIENT_STAGE, MountedTestbed
from dfslab.testbeds.settings import Setting

POM = Path(__file__).with_name("pom.xml")
POINTS = Path(__file__).with_name("points.txt")
VERSION = "2.9.4"
FORMAT = "alluxio.cli.Format"
MASTER = "alluxio.master.AlluxioMaster"
WORKER = "alluxio.worker.AlluxioWorker"
FUSE = "alluxio.fuse.AlluxioFuse"
# The library against which Alluxio's native FUSE library is linked, and its lowest version. Before
# libfuse 3.13, also in libfuse 2, a rename, a removal of a folder above the renamed file, and a
# creation or removal of another file can block each other for ever (github.com/libfuse/libfuse,
# issue 695). Several clients of one mount then hang: they rename in the folder of a run, and the
# first of them that ends tries to remove this folder. Slow calls, such as those of a write-through,
# make such a deadlock likely.
LIBFUSE, LIBFUSE_LEAST = "libfuse3.so.3", (3, 13)
# Mount options. `sync_read` allows one read of a file at a time. Without it, the kernel's parallel
# read-ahead sends reads out of order, and Alluxio reopens its stream for each of them. Reading 64
# MiB then took over 60 s; with `sync_read`, it took 1 s. `max_write` limits reads and writes to 128
# KiB, which is the limit of the description and of libfuse 2.
MOUNT_OPTIONS, IN_ORDER = f"max_write={2**17}", "sync_read,"
SHELL = "alluxio.cli.fs.FileSystemShell"
MASTER_RPC, MASTER_WEB, WORKER_RPC, WORKER_WEB = 19998, 19999, 29999, 30000
JAVA_LIMIT_S = 300.0
# Limit in seconds for mounting. The limit is long, because the JVMs of all client hosts start
# concurrently on shared processors.
MOUNT_LIMIT_S = 300.0
ANSWER_LIMIT_S = 20.0
MIB = 2**20
# The space in bytes that a worker reserves for a block that is being written. Alluxio's default is
# a whole block, even for a short file. With this default, the reservations of four writers would
# fill the memory tier and evict blocks that have no other copy.
RESERVED_BYTES = MIB
# The testbed parameters that are quantities. Each has a unit and a smallest allowed value.
LEAST = {
    "memory_tier": ("B", "16 MiB"),
    "heap": ("B", "128 MiB"),
    "worker_timeout": ("s", "1 s"),
    "trace_interval": ("s", "0.1 s"),
}
# Packages that Alluxio accesses by reflection, which Java 17 must permit. Alluxio was written for
# Java 8 and 11.
OPENED = ("java.lang", "java.util", "java.nio", "sun.nio.ch")
# Ignore proxy settings of the environment for requests to the testbed's daemons.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
LOG4J = """log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""


class MasterInfo(Document):
    """The version of Alluxio, as the master's web service reports it."""

    version: str = "unknown"


class LiveWorkers(Document):
    """The workers that the master considers alive, as its web service lists them."""

    nodes: list[JsonValue] | None = Field(None, alias="normalNodeInfos")


Answer = TypeVar("Answer", bound=Document)


class Testbed(MountedTestbed, Traceable):
    """A running Alluxio; `with Testbed.up({...}) as testbed:` stops it at the end.

    The under-store (the storage below Alluxio's cache) is a folder of the testbed on this machine.
    Every host accesses it by a local path. Traffic between a worker and the under-store therefore
    uses no emulated link and no emulated disk. With the parameter `under_hdfs`, the under-store is
    instead an HDFS on the same hosts.

    Through the mount, a file can only be written once and sequentially, because Alluxio has no
    random writes.
    """

    SYSTEM = "alluxio"
    # The warm-up writes small files, because memory tiers are small and an operation takes
    # Alluxio's client milliseconds.
    WARM_UP = WarmUp(file_bytes=1 << 17)
    PROGRAMS = {"java": "openjdk-17-jre-headless"}
    OPTIONS = {
        "memory_tier": "256 MiB",
        "heap": "384 MiB",
        # Alluxio's own default, ASYNC_THROUGH, is not allowed. ASYNC_THROUGH needs a job service,
        # which the testbed does not start. The default here is MUST_CACHE, which behaves like
        # ASYNC_THROUGH for a client. The description of Alluxio assumes MUST_CACHE.
        "write_type": ("MUST_CACHE", "CACHE_THROUGH", "THROUGH"),
        "worker_timeout": "5 min",
        # With `trace`, daemons and mounts write their profiles to `trace_directory`; "" means a
        # folder of the testbed.
        "trace": False,
        "trace_directory": "",
        "trace_interval": "2 s",
    }

    @classmethod
    def parse(cls, parameters: Mapping[str, Setting]) -> dict[str, LevelValue]:
        """Returns the parameters in SI units. Raises InputError when a parameter is wrong."""
        found = super().parse(parameters)
        for key, (unit, least) in LEAST.items():
            found[key] = _quantity(key, str(found[key]), unit, least)
        return found

    @classmethod
    def prepare(cls, parameters: dict[str, LevelValue], notify: Notify) -> None:
        """Checks that Java and libfuse are installed, and downloads Alluxio's jars.

        Downloads also Hadoop's jars if the parameter `under_hdfs` is set, and the tracing agent if
        `trace` is set. Raises TestbedError if any of these programs is not available.
        """
        super().prepare(parameters, notify)
        if parameters["under_hdfs"]:
            under_hdfs.jars(notify)
        if parameters["trace"]:
            agent_jar(notify)
        check_libfuse()
        jars(notify)

    def start_servers(self) -> None:
        """Starts the master with an empty journal and then the workers. Returns when the master
        knows all workers. If the parameter `under_hdfs` is set, the HDFS is started first."""
        self._write_configuration()
        if self.parameters["under_hdfs"]:
            self._start_under_hdfs()
        self.master.run(*self.java_command(FORMAT, "master"), limit_s=JAVA_LIMIT_S)
        self._launch(self.master, "master", MASTER, {}, self._master_serves, 0)
        for number, host in enumerate(self.hosts.of("worker"), 1):
            self._start_worker(host, number)
        for daemon in self.daemons.values():
            daemon.wait_ready()
        reply = self.ask("info", MasterInfo) or MasterInfo()
        self._change_record(versions={"alluxio": reply.version})

    def _start_under_hdfs(self) -> None:
        """Starts the HDFS under Alluxio: a NameNode on the master's host, and a DataNode on each
        worker's host.
        """
        under = UnderHdfs(self.folder, self.master, self.hosts.of("worker"))
        under.prepare()
        for daemon in under.daemons():
            self.run_in(
                daemon.host, daemon.name, daemon.words, daemon.ready, daemon.stage, JAVA_LIMIT_S
            )
        for started in self.daemons.values():
            started.wait_ready()

    def mount(self, host: Host, point: Path) -> None:
        """Starts a FUSE client in the foreground on `host`, which mounts Alluxio at `point`."""
        own = {"alluxio.user.hostname": host.address}
        options = (IN_ORDER if self.number("sync_read") else "") + MOUNT_OPTIONS
        words = self.java_command(
            FUSE, "-m", str(point), "-o", options, process=f"mount-{host.name}", **own
        )
        self.run_in(
            host,
            f"mount-{host.name}",
            words,
            lambda: host.mounted(point),
            CLIENT_STAGE,
            MOUNT_LIMIT_S,
        )

    @property
    def master(self) -> Host:
        """Returns the host of the only master."""
        return self.hosts.of("master")[0]

    @property
    def under_store(self) -> Path:
        """Returns the folder that serves as under-store (the storage below Alluxio's cache). If the
        parameter `under_hdfs` is set, this folder is not used."""
        return self.folder / "under-store"

    def _root(self) -> str:
        """Returns the address of the under-store: a folder, or the HDFS under Alluxio."""
        if self.parameters["under_hdfs"]:
            return UnderHdfs(self.folder, self.master, self.hosts.of("worker")).uri
        return str(self.under_store)

    def live_workers(self) -> int | None:
        """Returns the number of workers that the master considers alive. Returns None when the
        master does not answer.

        A crashed worker is counted until it has been silent for `worker_timeout`.
        """
        reply = self.ask("webui_workers", LiveWorkers)
        return None if reply is None else len(reply.nodes or ())

    def disks_read_bytes(self) -> None:
        """Returns None: there are no disk reads to count, because workers keep the data in memory.
        For cold reads, only the caches of clients can be emptied."""

    def shell(self, host: Host, *words: str) -> str:
        """Returns the output of an `alluxio fs` command on a host. Raises TestbedError when the
        command fails."""
        return host.run(*self.java_command(SHELL, *words), limit_s=JAVA_LIMIT_S)

    def ask(self, what: str, kind: type[Answer]) -> Answer | None:
        """Requests the path `what` from the master's web service. Returns the reply as an object of
        `kind`, or None when the master does not reply."""
        url = f"http://{self.master.address}:{MASTER_WEB}/api/v1/master/{what}"

        def work() -> Answer:
            with _OPENER.open(url, timeout=ANSWER_LIMIT_S) as answer:
                return kind.model_validate_json(answer.read())

        try:
            return self.master.in_network(work)
        except HTTPError as error:
            error.close()
            return None
        except (OSError, ValueError, HTTPException):
            return None

    @property
    def profiles(self) -> Path:
        """Returns the folder in which traced processes write their profiles: the parameter
        `trace_directory`, or a folder of the testbed if that parameter is empty."""
        given = str(self.parameters["trace_directory"])
        return Path(given).absolute() if given else self.folder / "profiles"

    def trace_options(self, process: str) -> list[str]:
        """Returns the JVM options with which a process writes its profile under the name `process`.
        The list is empty if `process` is "" or the testbed's parameter `trace` is off."""
        if not (self.parameters["trace"] and process):
            return []
        service = process.partition("-")[0]
        interval_s = self.number("trace_interval")
        return [java_option(agent_jar(), POINTS, self.profiles, service, process, interval_s)]

    @classmethod
    def traced(cls, folder: Path | None = None) -> dict[str, LevelValue]:
        """Returns testbed parameters with which every process counts its calls and writes the
        counts to a profile in `folder`.

        If `folder` is None, the profiles are in the testbed's own folder and are written every
        second.
        """
        if folder:
            return {"trace": True, "trace_directory": str(folder)}
        return {"trace": True, "trace_interval": "1 s"}

    def client_environment(self) -> dict[str, str]:
        """Returns the environment variables of a command on the client's host. DFSLAB_MOUNT is the
        mount point.
        """
        return {**os.environ, "DFSLAB_MOUNT": str(self.mount_point)}

    def client_command(self, words: Sequence[str]) -> list[str]:
        """Returns the command line that runs the command `words` on the client's host, where the
        mount is."""
        return self.clients[0].command(words)

    def java_command(self, main: str, *arguments: str, process: str = "", **own: str) -> list[str]:
        """Returns a command that runs the main class `main` of Alluxio. `own` are Alluxio
        properties that only this process has.

        If the testbed is traced and `process` is not empty, the process is traced under the name
        `process`.
        """
        heap_mib = int(self.parameters["heap"]) // MIB
        # Alluxio does not accept these four properties in its configuration file.
        properties = {
            "alluxio.home": str(self.folder),
            "alluxio.conf.dir": str(self.configuration),
            "alluxio.site.conf.dir": str(self.configuration),
            "alluxio.logs.dir": str(self.folder / "tmp"),
            **own,
        }
        return [
            program("java", "openjdk-17-jre-headless"),
            f"-Xmx{heap_mib}m",
            "-XX:+UseSerialGC",
            # Write nothing outside the testbed's folder: no JVM performance counters in the
            # system's /tmp.
            "-XX:-UsePerfData",
            f"-Djava.io.tmpdir={self.folder / 'tmp'}",
            "-Djava.net.preferIPv4Stack=true",
            *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
            *(f"-D{key}={value}" for key, value in properties.items()),
            *self.trace_options(process),
            "-cp",
            os.pathsep.join((str(self.configuration), f"{jars()}/*")),
            main,
            *arguments,
        ]

    @property
    def configuration(self) -> Path:
        """Returns the folder of Alluxio's configuration files."""
        return self.folder / "conf"

    def _write_configuration(self) -> None:
        for folder in (self.configuration, self.under_store, self.folder / "tmp"):
            folder.mkdir()
        lines = [f"{key}={value}\n" for key, value in self._properties().items()]
        (self.configuration / "alluxio-site.properties").write_text("".join(lines), "utf-8")
        (self.configuration / "log4j.properties").write_text(LOG4J, "utf-8")

    def _properties(self) -> dict[str, str]:
        """Returns Alluxio's properties that are the same for every process."""
        master, given = self.master, self.parameters
        through, given_type = bool(given["write_through"]), str(given["write_type"])
        described = {
            parameter.source: _text(self.number(parameter.key), parameter)
            for parameter in PARAMETERS.of_origin("filesystem").values()
            if parameter.source.startswith("alluxio.")
        }
        return described | {
            "alluxio.work.dir": str(self.folder),
            "alluxio.tmp.dirs": str(self.folder / "tmp"),
            "alluxio.master.hostname": master.address,
            "alluxio.master.bind.host": master.address,
            "alluxio.master.web.bind.host": master.address,
            "alluxio.master.rpc.port": str(MASTER_RPC),
            "alluxio.master.web.port": str(MASTER_WEB),
            "alluxio.master.journal.type": "UFS",
            "alluxio.master.journal.folder": str(master.disk / "journal"),
            "alluxio.master.metastore.dir": str(master.disk / "metastore"),
            "alluxio.master.mount.table.root.ufs": self._root(),
            "alluxio.master.worker.timeout": _milliseconds(self.number("worker_timeout")),
            "alluxio.master.lost.worker.detection.interval": "1000ms",
            "alluxio.master.update.check.enabled": "false",
            "alluxio.fuse.jnifuse.libfuse.version": "3",
            "alluxio.security.authorization.permission.enabled": "false",
            "alluxio.user.file.reserved.bytes": str(RESERVED_BYTES),
            "alluxio.user.file.readtype.default": "NO_CACHE" if through else "CACHE",
            "alluxio.user.file.writetype.default": "THROUGH" if through else given_type,
            "alluxio.worker.ramdisk.size": str(int(given["memory_tier"])),
            "alluxio.worker.tieredstore.levels": "1",
            "alluxio.worker.tieredstore.level0.alias": "MEM",
            "alluxio.worker.tieredstore.level0.dirs.quota": str(int(given["memory_tier"])),
        }

    def _start_worker(self, host: Host, number: int) -> None:
        """Starts a worker with a separate memory file system. Several workers may share a host."""
        name = f"worker-{number}"
        memory = host.folder / f"{name}-memory"
        memory.mkdir()
        # The memory file system is a little larger than the memory tier, because it also contains
        # the folders of the blocks.
        size_bytes = int(self.parameters["memory_tier"]) + 16 * MIB
        host.run("mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "dfslab", str(memory))
        own = {
            "alluxio.worker.hostname": host.address,
            "alluxio.worker.bind.host": host.address,
            "alluxio.worker.web.bind.host": host.address,
            "alluxio.worker.rpc.port": str(WORKER_RPC + 100 * (number - 1)),
            "alluxio.worker.web.port": str(WORKER_WEB + 100 * (number - 1)),
            "alluxio.worker.tieredstore.level0.dirs.path": str(memory),
        }
        self._launch(host, name, WORKER, own, self._workers_serve, 1)

    def _launch(
        self,
        host: Host,
        name: str,
        main: str,
        own: Mapping[str, str],
        ready: Callable[[], bool],
        stage: int,
    ) -> None:
        words = self.java_command(main, process=name, **own)
        self.run_in(host, name, words, ready, stage, JAVA_LIMIT_S)

    def _master_serves(self) -> bool:
        return self.ask("info", MasterInfo) is not None

    def _workers_serve(self) -> bool:
        """Returns whether every running worker is registered with the master. After a fault, only
        the workers that survived are running."""
        running = sum(
            daemon.state() == "running"
            for name, daemon in self.daemons.items()
            if name.startswith("worker-")
        )
        return (self.live_workers() or 0) >= running


def jars(notify: Notify = lambda text: None) -> Path:
    """Returns the folder of Alluxio's jars, which are downloaded when they are missing. Raises
    TestbedError when the download fails."""
    return maven_jars(f"alluxio-{VERSION}", POM, {"alluxio.version": VERSION}, notify)


def check_libfuse() -> None:
    """Raises TestbedError when LIBFUSE is not installed, or is older than LIBFUSE_LEAST."""
    doing = f"looking for {LIBFUSE}"
    try:
        version = libfuse_version()
    except OSError as error:
        why = "not found; install libfuse3-3 (Debian)"
        raise TestbedError("missing_program", doing, why) from error
    if version < LIBFUSE_LEAST:
        found, least = (".".join(map(str, one)) for one in (version, LIBFUSE_LEAST))
        why = f"renames can block for ever in version {found}; install libfuse3-3 {least} or newer"
        raise TestbedError("missing_program", doing, why)


def libfuse_version() -> tuple[int, ...]:
    """Returns the version of LIBFUSE, such as (3, 14, 0). Raises OSError when it is not
    installed."""
    version = ctypes.CDLL(LIBFUSE).fuse_pkgversion
    version.restype = ctypes.c_char_p
    return tuple(int(part) for part in re.findall(r"\d+", version().decode()))


def _quantity(key: str, value: str, unit: str, least: str) -> float:
    """Converts `value`, the text of the testbed parameter `key`, to a number in SI units. Raises
    InputError when the text is not a quantity in `unit`, or when the quantity is smaller than
    `least`."""
    try:
        number = float(parse(value, unit))
    except ValueError as error:
        raise InputError(f"testbed.{key}", value, str(error)) from error
    if number < parse(least, unit):
        raise InputError(f"testbed.{key}", value, f"must be at least {least}")
    return number


def _milliseconds(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


def _text(value: float, parameter: Parameter) -> str:
    """Returns the text that Alluxio reads for the value of a property: "true" or "false" for a
    switch, milliseconds for a time, and a whole number for any other value."""
    if parameter.choices == (0.0, 1.0):
        return "true" if value else "false"
    return _milliseconds(value) if parameter.unit == "s" else str(int(value))
