"""Starts a testbed of HDFS: one NameNode and several DataNodes, each a separate JVM process."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from dfslab.filesystems.hdfs.daemon_location import (
    DATANODE_PORTS,
    NAMENODE_PORTS,
    DaemonLocation,
    JavaMachine,
    NameNodeInfo,
    NameSystem,
    datanode_serves,
    stored,
)
from dfslab.filesystems.hdfs.testbed_parameters import (
    MIB,
    TestbedParameters,
    checked,
    decided_properties,
    parse_parameters,
)
from dfslab.notify import Notify
from dfslab.spec.design import LevelValue
from dfslab.spec.systems.endpoint import Endpoint, JavaConfiguration
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.cache import maven_jars, program
from dfslab.testbeds.capabilities import JavaReachable, Traceable
from dfslab.testbeds.daemon import Daemon, run_to_end
from dfslab.testbeds.hosts.ports import LOOPBACK
from dfslab.testbeds.java_agent import agent_jar, java_option
from dfslab.testbeds.settings import Setting
from dfslab.testbeds.state import DaemonState

POM = Path(__file__).with_name("pom.xml")
POINTS = Path(__file__).with_name("points.txt")
NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
FORMAT_LIMIT_S = 300.0
# Age in seconds up to which a heartbeat counts as recent: three heartbeats of 3 s. The NameNode
# itself declares a DataNode dead only after minutes.
HEARD_WITHIN_S = 9
# A script that replaces Hadoop's own script `hadoop` for commands on the testbed. The script runs
# the file system's shell, a program in a jar, or a main class.
HADOOP = """#!/bin/sh
main="${{1:?fs, jar or the name of a class}}"
shift
case "$main" in
fs | dfs) main=org.apache.hadoop.fs.FsShell ;;
jar) main=org.apache.hadoop.util.RunJar ;;
esac
# What Hadoop's own script adds to the class path.
exec {command}"${{HADOOP_CLASSPATH:+:$HADOOP_CLASSPATH}}" "$main" "$@"
"""
LOG4J = """log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""


@dataclass(frozen=True)
class HdfsStatus:
    """The state of the testbed's daemons, and the cluster as the NameNode reports it.

    Values of the NameNode are None if it does not answer. `safe_mode` is the reason for safe mode;
    it is "" when safe mode is off.
    """

    name: str
    system: str
    uri: str
    live_datanodes: int | None
    dead_datanodes: int | None
    safe_mode: str | None
    daemons: list[DaemonState]


class Testbed(BaseTestbed[TestbedParameters], Traceable, JavaReachable):
    """A running HDFS; `with Testbed.up({...}) as testbed:` stops it at the end."""

    SYSTEM = "hdfs"

    @classmethod
    def typed(cls, values: Mapping[str, Setting]) -> dict[str, Setting]:
        """Parses parameters from a command line. Keys with a dot are Hadoop's properties. Raises
        InputError for an unknown key or a wrong value."""
        return parse_parameters(values)

    @classmethod
    def traced(cls, folder: Path | None = None) -> dict[str, LevelValue]:
        """Returns testbed parameters with which every process counts its calls and writes the
        counts to a profile.

        The profiles are written to `folder`. If `folder` is None, they are written to the testbed's
        own folder every second.
        """
        if folder:
            return {"trace": True, "trace_directory": str(folder)}
        return {"trace": True, "trace_interval_s": 1.0}

    @classmethod
    def parse(cls, parameters: Mapping[str, Setting]) -> TestbedParameters:
        """Returns the checked parameters. Raises InputError when a parameter is wrong."""
        return checked(parameters)

    @classmethod
    def prepare(cls, parameters: TestbedParameters, notify: Notify) -> None:
        """Checks that Java is installed, and downloads Hadoop's jars. If the parameter `trace` is
        on, also downloads the tracing agent. Raises TestbedError when one of these is missing."""
        program("java", "openjdk-17-jre-headless")
        cls.jars(parameters, notify)
        if parameters.trace:
            agent_jar(notify)

    @classmethod
    def port_count(cls, parameters: TestbedParameters) -> int:
        """Returns the number of ports that all daemons need. The ports are set explicitly so that
        testbeds do not collide.
        """
        return len(NAMENODE_PORTS) + len(DATANODE_PORTS) * parameters.datanodes

    def start(self) -> None:
        """Formats the NameNode, launches all daemons concurrently, and waits until the NameNode
        knows every DataNode.
        """
        self.namenode, datanodes = self._nodes()
        self._change_record(uri=f"hdfs://{self.namenode.at('rpc')}")
        self._write_configuration()
        self._format()
        words = [NAMENODE]
        self._launch_on(self.namenode, words, self._namenode_serves, stage=0)
        data = self._data_folder()
        for node in datanodes:
            words = [DATANODE, *own_properties(node, stored(node, data))]
            self._launch_on(node, words, partial(datanode_serves, node), stage=1)
        self._await_all()
        self._change_record(versions=self._running_versions())

    def _nodes(self) -> tuple[DaemonLocation, list[DaemonLocation]]:
        """Returns the locations of the NameNode and of the DataNodes. The daemons are on the
        testbed's hosts, or on this machine if the testbed has no hosts."""
        if self.cluster is not None:
            first = self.hosts.of("namenode")[0]
            named = DaemonLocation("namenode", first, first.address, NAMENODE_PORTS)
            return named, [
                DaemonLocation(
                    f"datanode-{number}", host, host.address, _shifted(DATANODE_PORTS, number)
                )
                for number, host in enumerate(self.hosts.of("datanode"), 1)
            ]
        ports = iter(self.ports)
        nodes = [
            DaemonLocation(name, None, LOOPBACK, {port: next(ports) for port in wanted})
            for name, wanted in self._names()
        ]
        return nodes[0], nodes[1:]

    def _names(self) -> list[tuple[str, Iterable[str]]]:
        """Returns the name of every daemon with the names of the ports that it needs."""
        count = self.parameters.datanodes
        datanodes = [f"datanode-{number}" for number in range(1, count + 1)]
        return [("namenode", NAMENODE_PORTS), *((name, DATANODE_PORTS) for name in datanodes)]

    def _format(self) -> None:
        words = self.java_command(NAMENODE, "-format", "-nonInteractive", process="")
        run_to_end(
            "formatting the NameNode",
            _entered(self.namenode, words),
            self._log("format"),
            self.environment(),
            self.folder,
            FORMAT_LIMIT_S,
        )

    @property
    def endpoint(self) -> Endpoint:
        """Returns the NameNode's address."""
        return Endpoint(uri=self.uri)

    @property
    def java_configuration(self) -> JavaConfiguration:
        """Returns the configuration that Hadoop's own client needs in addition to the endpoint."""
        return JavaConfiguration(str(self.configuration), self.parameters.version)

    @property
    def configuration(self) -> Path:
        """Returns the folder of Hadoop's configuration files, for daemons and Java clients."""
        return self.folder / "conf"

    @property
    def profiles(self) -> Path:
        """Returns the folder in which traced processes write their profiles: the parameter
        `trace_directory`, or a folder of the testbed if that parameter is empty."""
        given = self.parameters.trace_directory
        return Path(given).absolute() if given else self.folder / "profiles"

    def java_command(self, main: str, *arguments: str, process: str = "client") -> list[str]:
        """Returns a command that runs the Java main class `main` of Hadoop, configured for this
        testbed.

        `process` is the name of the process in its profile: a role, and a number if there are
        several. A process without a name is not traced.
        """
        return [
            *self._java(),
            *self.trace_options(process),
            "-cp",
            self._class_path(),
            main,
            *arguments,
        ]

    def _class_path(self) -> str:
        return os.pathsep.join((str(self.configuration), f"{self.jars(self.parameters)}/*"))

    def _java(self) -> list[str]:
        """Returns the first words of the command line of every JVM on this testbed."""
        heap_mib = int(self.parameters.heap_bytes) // MIB
        return [
            program("java", "openjdk-17-jre-headless"),
            f"-Xmx{heap_mib}m",
            "-XX:+UseSerialGC",
            # Write nothing outside the testbed's folder: no JVM performance counters in the
            # system's /tmp.
            "-XX:-UsePerfData",
            f"-Djava.io.tmpdir={self.folder / 'tmp'}",
            # Libraries of the web interface generate classes at run time, which Java allows only
            # with --add-opens. Hadoop's own scripts also set this option.
            "-Djava.net.preferIPv4Stack=true",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
        ]

    def trace_options(self, process: str = "client") -> list[str]:
        """Returns JVM options that make the process called `process` write its profile. The list is
        empty if `process` is "" or the testbed's parameter `trace` is off."""
        if not (self.parameters.trace and process):
            return []
        given = self.parameters
        service = process if given.trace_processes else process.partition("-")[0]
        return [
            java_option(
                agent_jar(), POINTS, self.profiles, service, process, given.trace_interval_s
            )
        ]

    def client_environment(self) -> dict[str, str]:
        """Returns the environment variables of client commands: a PATH with `hadoop`, this
        testbed's configuration, and options that trace JVMs.
        """
        return {
            **os.environ,
            "PATH": os.pathsep.join((str(self.folder / "bin"), os.environ.get("PATH", ""))),
            "HADOOP_CONF_DIR": str(self.configuration),
            "JAVA_TOOL_OPTIONS": shlex.join(
                [*shlex.split(os.environ.get("JAVA_TOOL_OPTIONS", "")), *self.trace_options()]
            ),
        }

    def status(self) -> HdfsStatus:
        """Returns the state of every daemon, and the cluster as the NameNode reports it.

        Values of the NameNode are None if it does not answer. After a DataNode has crashed, the
        NameNode counts it in `live_datanodes` until the heartbeat limit (10.5 minutes by default).
        `daemons` shows the crash immediately.
        """
        nodes = self.namenode.ask(NameSystem) or NameSystem()
        return HdfsStatus(
            name=self.name,
            system=self.SYSTEM,
            uri=self.uri,
            live_datanodes=nodes.live_datanodes,
            dead_datanodes=nodes.dead_datanodes,
            safe_mode=self._safe_mode(),
            daemons=self.daemon_states(),
        )

    def lacking(self) -> str:
        """Returns as text how many DataNodes have sent no recent heartbeat to the NameNode, and how
        many replicas are missing. Returns "" if nothing is missing. If the NameNode does not
        answer, the text states only that."""
        reply = self.namenode.ask(NameNodeInfo)
        if reply is None:
            return "the NameNode does not answer"
        nodes = reply.live_nodes.values()
        heard = [node for node in nodes if node.last_contact_s <= HEARD_WITHIN_S]
        away = self.parameters.datanodes - len(heard)
        wanted = reply.blocks * self.parameters.replication
        short = wanted - sum(node.blocks for node in heard)
        parts = [f"{away} DataNodes"] if away else []
        return ", ".join(parts + ([f"{short} replicas"] if short > 0 else []))

    @staticmethod
    def jars(parameters: TestbedParameters, notify: Notify = lambda text: None) -> Path:
        """Returns the folder of Hadoop's jars, which are downloaded when they are missing. Raises
        TestbedError when the download fails."""
        version = parameters.version
        return maven_jars(f"hadoop-{version}", POM, {"hadoop.version": version}, notify)

    def _write_configuration(self) -> None:
        for name in ("tmp", "logs", "bin", "conf/webapps/hdfs", "conf/webapps/datanode"):
            (self.folder / name).mkdir(parents=True)
        decided = decided_properties(self.parameters, self.folder, self.namenode)
        properties = {**decided, **self.parameters.properties}
        core = {k: v for k, v in properties.items() if not k.startswith("dfs.")}
        hdfs = {k: v for k, v in properties.items() if k.startswith("dfs.")}
        (self.configuration / "core-site.xml").write_bytes(site(core))
        (self.configuration / "hdfs-site.xml").write_bytes(site(hdfs))
        (self.configuration / "log4j.properties").write_text(LOG4J, "utf-8")
        script = self.folder / "bin" / "hadoop"
        command = shlex.join([*self._java(), "-cp", self._class_path()])
        script.write_text(HADOOP.format(command=command), "utf-8")
        script.chmod(0o755)

    def _data_folder(self) -> Path:
        """Returns the folder in which the DataNodes store their blocks: the testbed's own folder,
        or a new folder in `data_directory` if that parameter is set."""
        if not self.parameters.data_directory:
            return self.folder
        folder = Path(self.parameters.data_directory).absolute() / self.folder.name
        self.make_folder(folder)
        return folder

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def _launch_on(
        self, node: DaemonLocation, main: list[str], ready: Callable[[], bool], stage: int
    ) -> None:
        words = self.java_command(*main, process=node.name)
        if node.host is not None:
            self.run_in(node.host, node.name, words, ready, stage)
            return
        daemon = Daemon(
            node.name,
            words,
            self._log(node.name),
            ready,
            self.environment(),
            self.folder,
            owned=not self.outlive,
        )
        self.launch(daemon, stage)

    def _await_all(self) -> None:
        for daemon in self.daemons.values():
            daemon.wait_ready()

    def _safe_mode(self) -> str | None:
        """Returns the reason for the NameNode's safe mode. Returns "" when safe mode is off, and
        None when the NameNode does not answer.
        """
        attributes = self.namenode.ask(NameNodeInfo)
        return None if attributes is None else attributes.safe_mode

    def _namenode_serves(self) -> bool:
        """Returns whether the NameNode accepts writes and knows every running DataNode. After a
        fault, only the DataNodes that survived are running."""
        running = sum(d.state() == "running" for n, d in self.daemons.items() if n != "namenode")
        nodes = self.namenode.ask(NameSystem) or NameSystem()
        return (nodes.live_datanodes or 0) >= running and self._safe_mode() == ""

    def _running_versions(self) -> dict[str, str]:
        node = self.namenode.ask(NameNodeInfo) or NameNodeInfo()
        machine = self.namenode.ask(JavaMachine) or JavaMachine()
        return {"hadoop": node.version or "unknown", "java": machine.version or "unknown"}


def _shifted(ports: Mapping[str, int], number: int) -> dict[str, int]:
    """Returns the ports of the DataNode with this number. The ports of two DataNodes differ,
    because several DataNodes may share a host.
    """
    return {name: port + 100 * (number - 1) for name, port in ports.items()}


def own_properties(node: DaemonLocation, data: Path) -> list[str]:
    """Returns options for a DataNode's command line that set its own addresses and the directory of
    its data.
    """
    own = {
        "dfs.datanode.data.dir": data.as_uri(),
        "dfs.datanode.hostname": node.address,
        "dfs.datanode.address": node.at("data"),
        "dfs.datanode.http.address": node.at("http"),
        "dfs.datanode.ipc.address": node.at("ipc"),
    }
    return [word for key, value in own.items() for word in ("-D", f"{key}={value}")]


def _entered(node: DaemonLocation, words: list[str]) -> list[str]:
    return words if node.host is None else node.host.command(words)


def site(properties: Mapping[str, str]) -> bytes:
    """Returns a Hadoop configuration file with these properties."""
    root = ElementTree.Element("configuration")
    for key, value in properties.items():
        entry = ElementTree.SubElement(root, "property")
        ElementTree.SubElement(entry, "name").text = key
        ElementTree.SubElement(entry, "value").text = value
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
