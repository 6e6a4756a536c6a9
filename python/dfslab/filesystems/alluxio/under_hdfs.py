"""An HDFS as the under-store of an Alluxio testbed: its configuration, and its daemons on Alluxio's
hosts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dfslab.filesystems.hdfs import testbed as hdfs
from dfslab.filesystems.hdfs.daemon_location import (
    DATANODE_PORTS,
    NAMENODE_PORTS,
    DaemonLocation,
    NameNodeInfo,
    NameSystem,
    datanode_serves,
    stored,
)
from dfslab.filesystems.hdfs.testbed_parameters import TestbedParameters, decided_properties
from dfslab.notify import Notify
from dfslab.testbeds.cache import program
from dfslab.testbeds.hosts.host import Host

FORMAT_LIMIT_S = 300.0
HEAP_MIB = 256


@dataclass(frozen=True)
class UnderDaemon:
    """A daemon of the HDFS: its host, its command, and a function that returns whether the daemon
    serves requests. Daemons with a higher `stage` are stopped first."""

    name: str
    host: Host
    words: list[str]
    ready: Callable[[], bool]
    stage: int


class UnderHdfs:
    """The HDFS below an Alluxio testbed. Its NameNode runs on the host of Alluxio's master, and a
    DataNode runs on the host of each worker.

    Every block has only one replica, as in Alluxio itself, where only one worker keeps a file in
    memory.
    """

    def __init__(self, folder: Path, master: Host, workers: Sequence[Host]) -> None:
        """`folder`: the folder of the Alluxio testbed."""
        self._folder = folder / "under-hdfs"
        self._namenode = DaemonLocation("under-namenode", master, master.address, NAMENODE_PORTS)
        self._datanodes = [
            DaemonLocation(f"under-datanode-{number}", host, host.address, _ports(number))
            for number, host in enumerate(_distinct(workers), 1)
        ]

    @property
    def uri(self) -> str:
        """Returns the address of the HDFS folder in which Alluxio stores files."""
        return f"hdfs://{self._namenode.at('rpc')}/"

    def prepare(self) -> None:
        """Writes the configuration and formats the NameNode. Raises TestbedError when formatting
        fails."""
        for name in ("tmp", "conf/webapps/hdfs", "conf/webapps/datanode"):
            (self._folder / name).mkdir(parents=True)
        given = TestbedParameters(datanodes=len(self._datanodes), replication=1)
        properties = decided_properties(given, self._folder, self._namenode)
        # Without permission checks, Alluxio's workers can access the HDFS as the user that runs
        # them. The checks are not needed, because only this testbed uses the HDFS.
        properties["dfs.permissions.enabled"] = "false"
        for name in ("core-site.xml", "hdfs-site.xml"):
            (self._configuration / name).write_bytes(hdfs.site(properties))
        (self._configuration / "log4j.properties").write_text(hdfs.LOG4J, "utf-8")
        host = self._namenode.host
        assert host is not None, "the NameNode has a host"
        words = self._java(hdfs.NAMENODE, "-format", "-nonInteractive")
        host.run(*words, limit_s=FORMAT_LIMIT_S)

    def daemons(self) -> list[UnderDaemon]:
        """Returns the daemons of the HDFS, in the order in which they start."""
        found = [self._daemon(self._namenode, [hdfs.NAMENODE], self._serves, 0)]
        for node in self._datanodes:
            words = [hdfs.DATANODE, *hdfs.own_properties(node, stored(node, self._folder))]
            found.append(self._daemon(node, words, partial(datanode_serves, node), 0))
        return found

    def _daemon(
        self, node: DaemonLocation, main: Sequence[str], ready: Callable[[], bool], stage: int
    ) -> UnderDaemon:
        assert node.host is not None, "every daemon has a host"
        return UnderDaemon(node.name, node.host, self._java(*main), ready, stage)

    def _serves(self) -> bool:
        """Returns whether the NameNode accepts writes and every DataNode has registered with it."""
        info = self._namenode.ask(NameNodeInfo)
        nodes = self._namenode.ask(NameSystem) or NameSystem()
        known = (nodes.live_datanodes or 0) >= len(self._datanodes)
        return known and info is not None and info.safe_mode == ""

    @property
    def _configuration(self) -> Path:
        return self._folder / "conf"

    def _java(self, *main: str) -> list[str]:
        """Returns the command that runs a main class of Hadoop."""
        return [
            program("java", "openjdk-17-jre-headless"),
            f"-Xmx{HEAP_MIB}m",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
            f"-Djava.io.tmpdir={self._folder / 'tmp'}",
            "-Djava.net.preferIPv4Stack=true",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "-cp",
            os.pathsep.join((str(self._configuration), f"{jars()}/*")),
            *main,
        ]


def jars(notify: Notify = lambda text: None) -> Path:
    """Returns the folder of Hadoop's jars, which are downloaded when they are missing. Raises
    TestbedError when the download fails."""
    return hdfs.Testbed.jars(TestbedParameters(), notify)


def _distinct(hosts: Sequence[Host]) -> list[Host]:
    """Returns the hosts without repetitions, because several workers may share a host."""
    return list({host.name: host for host in hosts}.values())


def _ports(number: int) -> dict[str, int]:
    """Returns the ports of the DataNode with this number. The ports of two DataNodes differ,
    because several DataNodes may share a host."""
    return {name: port + 100 * (number - 1) for name, port in DATANODE_PORTS.items()}
