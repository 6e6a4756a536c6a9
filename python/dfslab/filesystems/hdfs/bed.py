"""A real HDFS on this machine: one NameNode and N DataNodes, each a JVM process of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Self
from xml.etree import ElementTree

from pydantic import AliasChoices, BeforeValidator, Field, field_validator, model_validator

from dfslab.beds.agent import agent_jar, java_option
from dfslab.beds.base import BaseBed, Notify
from dfslab.beds.cache import maven_jars, program
from dfslab.beds.daemon import Daemon, run_to_end
from dfslab.beds.host import Host
from dfslab.beds.ports import LOOPBACK
from dfslab.spec.model import InputError, Model, build, unknown
from dfslab.spec.units import Bytes, parse

POM = Path(__file__).with_name("pom.xml")
POINTS = Path(__file__).with_name("points.txt")
NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
# Names of the ports, and the usual numbers, which hosts of their own can use.
NAMENODE_PORTS = {"rpc": 8020, "http": 9870}
DATANODE_PORTS = {"data": 9866, "http": 9864, "ipc": 9867}
FORMAT_LIMIT_S = 60.0
ANSWER_LIMIT_S = 5.0
# Three heartbeats of 3 s: what the NameNode calls dead it has missed for minutes.
HEARD_WITHIN_S = 9
MIB = 2**20
# A local daemon is never asked by way of a proxy, whatever the environment says.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
# What Hadoop's own script is used for: the shell, a program in a jar, or a main class.
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


def _either(name: str, described: str) -> AliasChoices:
    """A parameter's name here, and its name in the description of HDFS."""
    return AliasChoices(described, name)


def _seconds(value: Any) -> Any:
    """Text with a unit, or a number of seconds, as a description's parameters come."""
    return parse(value, "s") if isinstance(value, str) else value


Delay = Annotated[float, BeforeValidator(_seconds)]


class BedParameters(Model):
    """What a bed of HDFS can be told; quantities in SI units, or text with a unit.

    `clients` and `namenodes` come with a deployment; a bed starts no client. With `trace` every
    daemon, and every client started by `java_command`, writes its profile to `trace_directory`
    (or the bed's own folder, which goes with the bed), anew every `trace_interval_s`. With
    `trace_processes` causing paths name each process, not its role: who sent to whom is told
    apart, at the price of more paths on beds of many DataNodes.
    """

    datanodes: int = Field(3, ge=1, le=32)
    namenodes: int = Field(1, ge=1, le=1)
    clients: int = Field(1, ge=0)
    replication: int = Field(2, ge=1)
    block_size_bytes: Bytes = Field(128 * MIB, validation_alias=_either(
        "block_size_bytes", "block_size"))  # fmt: skip
    packet_size_bytes: Bytes = Field(65536, validation_alias=_either(
        "packet_size_bytes", "packet_size"))  # fmt: skip
    handler_count: int = Field(10, ge=1)
    call_queue: int = Field(100, ge=1)
    fair_lock: bool = True
    prefetch_blocks: int = Field(10, ge=1)
    close_committed_allowed: int = Field(1, ge=0)
    complete_retry_delay_s: Delay = Field(0.4, ge=0, validation_alias=_either(
        "complete_retry_delay_s", "complete_retry_delay"))  # fmt: skip
    # What a client asks for, block by block; daemons are told nothing of it.
    block_sync: bool = True
    heap_bytes: Bytes = 256 * MIB
    version: str = "3.4.3"
    data_directory: str = ""
    trace: bool = False
    trace_directory: str = ""
    trace_processes: bool = False
    trace_interval_s: float = Field(10.0, gt=0)
    properties: dict[str, str] = {}

    @field_validator("version")
    @classmethod
    def _version(cls, value: str) -> str:
        if not re.fullmatch(r"\d+\.\d+\.\d+", value):
            raise ValueError('must be a release like "3.4.3"')
        return value

    @field_validator("data_directory", "trace_directory")
    @classmethod
    def _directory(cls, value: str) -> str:
        if value and not (Path(value).is_dir() and os.access(value, os.W_OK | os.X_OK)):
            raise ValueError("must be an existing, writable directory")
        return value

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.replication > self.datanodes:
            allowed = f"must be at most the {self.datanodes} datanodes"
            raise InputError("bed.replication", self.replication, allowed)
        if self.block_size_bytes % 512 or not self.block_size_bytes:
            allowed = "must be a multiple of the 512-byte checksum chunk"
            raise InputError("bed.block_size_bytes", int(self.block_size_bytes), allowed)
        if self.heap_bytes < 64 * MIB:
            raise InputError("bed.heap_bytes", int(self.heap_bytes), "must be at least 64 MiB")
        anywhere = Node("namenode", None, LOOPBACK, NAMENODE_PORTS)
        decided = decided_properties(self, Path(), anywhere)
        for key in self.properties:
            if key in decided or re.fullmatch(r"dfs\.datanode\..*(address|data\.dir)", key):
                raise InputError(f"bed.{key}", self.properties[key], "is decided by the bed")
        return self


def parse_parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as typed on a command line; a key with a dot is a Hadoop property.

    InputError for an unknown key or a wrong value.
    """
    told = {key: value for key, value in values.items() if "." not in key}
    properties = {key: value for key, value in values.items() if "." in key}
    if properties:
        told["properties"] = {**told.get("properties", {}), **properties}
    _checked(told)
    return told


def _checked(told: Mapping[str, Any]) -> BedParameters:
    known = set(BedParameters.model_fields) | {"block_size", "packet_size", "complete_retry_delay"}
    for key, value in told.items():
        if key not in known:
            raise InputError(f"bed.{key}", value, unknown(key, sorted(BedParameters.model_fields)))
    return build(BedParameters, dict(told), "bed")


@dataclass(frozen=True)
class Node:
    """Where a daemon runs: a host (None: this machine), its address and its ports by name."""

    name: str
    host: Host | None
    address: str
    ports: Mapping[str, int]

    def at(self, port: str) -> str:
        """Address and port, as Hadoop writes them."""
        return f"{self.address}:{self.ports[port]}"

    def ask(self, bean: str) -> dict[str, Any] | None:
        """What the daemon says of one bean; None when it does not answer, or not yet."""

        def work() -> dict[str, Any] | None:
            return jmx(self.at("http"), bean)

        try:
            return work() if self.host is None else self.host.in_network(work)
        except OSError:
            return None


def decided_properties(parameters: BedParameters, folder: Path, namenode: Node) -> dict[str, str]:
    """Hadoop's properties that follow from the bed's parameters, the same for every daemon."""
    block_size_bytes = int(parameters.block_size_bytes)
    return {
        "fs.defaultFS": f"hdfs://{namenode.at('rpc')}",
        "hadoop.tmp.dir": str(folder / "tmp"),
        "dfs.namenode.name.dir": _stored(namenode, folder.absolute()).as_uri(),
        "dfs.namenode.http-address": namenode.at("http"),
        # All DataNodes share one address, which does not resolve to a name.
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.fs-limits.min-block-size": "16",
        # Nothing is lost by leaving safe mode at once: the blocks of a new bed are all known.
        "dfs.namenode.safemode.extension": "0",
        "dfs.replication": str(parameters.replication),
        "dfs.blocksize": str(block_size_bytes),
        "dfs.client-write-packet-size": str(int(parameters.packet_size_bytes)),
        "dfs.namenode.handler.count": str(parameters.handler_count),
        "ipc.server.handler.queue.size": str(parameters.call_queue),
        "dfs.namenode.fslock.fair": str(parameters.fair_lock).lower(),
        "dfs.client.read.prefetch.size": str(parameters.prefetch_blocks * block_size_bytes),
        # Else a close that comes before the DataNode's report waits for the client's back-off.
        "dfs.namenode.file.close.num-committed-allowed": str(parameters.close_committed_allowed),
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": str(
            round(parameters.complete_retry_delay_s * 1000)
        ),
    }


def _stored(node: Node, folder: Path) -> Path:
    """Where a daemon keeps its data: on its host's disk, else in `folder`."""
    return (folder if node.host is None else node.host.disk) / node.name


def jmx(address: str, bean: str) -> dict[str, Any] | None:
    """What a daemon says of one bean; None when it does not answer, or has no such bean (yet)."""
    url = f"http://{address}/jmx?qry={bean}"
    try:
        with _OPENER.open(url, timeout=ANSWER_LIMIT_S) as answer:
            beans = json.load(answer)["beans"]
    except (OSError, ValueError, urllib.error.URLError):
        return None
    return beans[0] if beans else None


def datanode_serves(node: Node) -> bool:
    """Whether a DataNode is registered with its NameNode and in contact with it."""
    seen = node.ask("Hadoop:service=DataNode,name=DataNodeInfo") or {}
    actors = json.loads(seen.get("BPServiceActorInfo") or "[]")
    return bool(actors) and all(actor.get("ActorState") == "RUNNING" for actor in actors)


class Bed(BaseBed):
    """A running HDFS; `with Bed.up({...}) as bed:` takes it down at the end."""

    SYSTEM = "hdfs"
    parameters: BedParameters

    @classmethod
    def parse(cls, parameters: Mapping[str, Any]) -> BedParameters:
        """The parameters, checked; InputError when one is wrong."""
        return _checked(parameters)

    @classmethod
    def prepare(cls, parameters: BedParameters, notify: Notify) -> None:
        """Java is there, and Hadoop's jars are downloaded."""
        program("java", "openjdk-17-jre-headless")
        cls._jars(parameters, notify)
        if parameters.trace:
            agent_jar(notify)

    @classmethod
    def port_count(cls, parameters: BedParameters) -> int:
        """All daemons' ports, given explicitly so that beds do not collide."""
        return len(NAMENODE_PORTS) + len(DATANODE_PORTS) * parameters.datanodes

    def start(self) -> None:
        """Format, launch all daemons together, wait for the NameNode to see every DataNode."""
        self._namenode, datanodes = self._nodes()
        self._now(uri=f"hdfs://{self._namenode.at('rpc')}")
        self._write_configuration()
        self._format()
        words = [NAMENODE]
        self._launch_on(self._namenode, words, self._namenode_serves, stage=0)
        data = self._data_folder()
        for node in datanodes:
            words = [DATANODE, *_own_properties(node, _stored(node, data))]
            self._launch_on(node, words, partial(datanode_serves, node), stage=1)
        self._await_all()
        self._now(versions=self._running_versions())

    def _nodes(self) -> tuple[Node, list[Node]]:
        """The NameNode and the DataNodes, on hosts if there are any."""
        if self.cluster is not None:
            first = self.hosts.of("namenode")[0]
            named = Node("namenode", first, first.address, NAMENODE_PORTS)
            return named, [
                Node(f"datanode-{number}", host, host.address, _shifted(DATANODE_PORTS, number))
                for number, host in enumerate(self.hosts.of("datanode"), 1)
            ]
        ports = iter(self._record.ports)
        nodes = [
            Node(name, None, LOOPBACK, {port: next(ports) for port in wanted})
            for name, wanted in self._names()
        ]
        return nodes[0], nodes[1:]

    def _names(self) -> list[tuple[str, Iterable[str]]]:
        """Every daemon's name and the names of its ports."""
        count = self.parameters.datanodes
        datanodes = [f"datanode-{number}" for number in range(1, count + 1)]
        return [("namenode", NAMENODE_PORTS), *((name, DATANODE_PORTS) for name in datanodes)]

    def _format(self) -> None:
        words = self.java_command(NAMENODE, "-format", "-nonInteractive", process="")
        run_to_end(
            "formatting the NameNode", _entered(self._namenode, words), self._log("format"),
            self.environment(), self.folder, FORMAT_LIMIT_S,
        )  # fmt: skip

    @property
    def access(self) -> dict[str, Any]:
        """The load generator's target."""
        return {
            "kind": "hdfs",
            "uri": self.uri,
            "root": "/",
            "replication": self.parameters.replication,
            "block_size_bytes": int(self.parameters.block_size_bytes),
        }

    @property
    def java_access(self) -> dict[str, str]:
        """What Hadoop's own client needs beside `access`."""
        return {"configuration": str(self.configuration), "version": self.parameters.version}

    @property
    def configuration(self) -> Path:
        """The folder of Hadoop's configuration files, for daemons and Java clients."""
        return self.folder / "conf"

    @property
    def profiles(self) -> Path:
        """The folder of the traced processes' profiles."""
        told = self.parameters.trace_directory
        return Path(told).absolute() if told else self.folder / "profiles"

    def java_command(self, main: str, *arguments: str, process: str = "client") -> list[str]:
        """A command that runs a Java main class of Hadoop's, configured for this bed.

        `process` is what its profile is called: a role, and a number if there are several; a
        process without a name is not traced.
        """
        return [*self._java(), *self.trace_options(process), "-cp", self._class_path(), main,
                *arguments]  # fmt: skip

    def _class_path(self) -> str:
        return os.pathsep.join((str(self.configuration), f"{self._jars(self.parameters)}/*"))

    def _java(self) -> list[str]:
        """How every JVM is started here."""
        heap_mib = int(self.parameters.heap_bytes) // MIB
        return [
            program("java", "openjdk-17-jre-headless"), f"-Xmx{heap_mib}m", "-XX:+UseSerialGC",
            # Nothing outside the bed's folder: no performance counters in the system's /tmp.
            "-XX:-UsePerfData", f"-Djava.io.tmpdir={self.folder / 'tmp'}",
            # The web door's libraries make classes at run time, as Hadoop's own scripts allow them.
            "-Djava.net.preferIPv4Stack=true", "--add-opens=java.base/java.lang=ALL-UNNAMED",
        ]  # fmt: skip

    def trace_options(self, process: str = "client") -> list[str]:
        """What makes any JVM write its profile here; nothing in a bed without `trace`."""
        if not (self.parameters.trace and process):
            return []
        told = self.parameters
        service = process if told.trace_processes else process.partition("-")[0]
        return [java_option(agent_jar(), POINTS, self.profiles, service, process,
                            told.trace_interval_s)]  # fmt: skip

    def client_environment(self) -> dict[str, str]:
        """For any client command: a `hadoop` on its path, this bed configured, its JVMs traced."""
        return {
            **os.environ,
            "PATH": os.pathsep.join((str(self.folder / "bin"), os.environ.get("PATH", ""))),
            "HADOOP_CONF_DIR": str(self.configuration),
            "JAVA_TOOL_OPTIONS": shlex.join(
                [*shlex.split(os.environ.get("JAVA_TOOL_OPTIONS", "")), *self.trace_options()]
            ),
        }

    def status(self) -> dict[str, Any]:
        """The NameNode's view (None where it does not answer) and every daemon's state.

        `live_datanodes` lags behind a crash by the NameNode's heartbeat limit (10.5 minutes by
        default); `daemons` does not.
        """
        nodes = self._namesystem()
        return {
            "name": self.name,
            "system": self.SYSTEM,
            "uri": self.uri,
            "live_datanodes": nodes.get("NumLiveDataNodes"),
            "dead_datanodes": nodes.get("NumDeadDataNodes"),
            "safe_mode": self._safe_mode(),
            "daemons": self.daemon_states(),
        }

    def lacking(self) -> str:
        """DataNodes that the NameNode has not heard of lately, and blocks short of replicas."""
        said = self._namenode.ask("Hadoop:service=NameNode,name=NameNodeInfo")
        if said is None:
            return "the NameNode does not answer"
        nodes = json.loads(said["LiveNodes"]).values()
        heard = [node for node in nodes if node["lastContact"] <= HEARD_WITHIN_S]
        away = self.parameters.datanodes - len(heard)
        wanted = said["TotalBlocks"] * self.parameters.replication
        short = wanted - sum(node["numBlocks"] for node in heard)
        parts = [f"{away} DataNodes"] if away else []
        return ", ".join(parts + ([f"{short} replicas"] if short > 0 else []))

    @staticmethod
    def _jars(parameters: BedParameters, notify: Notify = lambda text: None) -> Path:
        version = parameters.version
        return maven_jars(f"hadoop-{version}", POM, {"hadoop.version": version}, notify)

    def _write_configuration(self) -> None:
        for name in ("tmp", "logs", "bin", "conf/webapps/hdfs", "conf/webapps/datanode"):
            (self.folder / name).mkdir(parents=True)
        decided = decided_properties(self.parameters, self.folder, self._namenode)
        properties = {**decided, **self.parameters.properties}
        core = {k: v for k, v in properties.items() if not k.startswith("dfs.")}
        hdfs = {k: v for k, v in properties.items() if k.startswith("dfs.")}
        (self.configuration / "core-site.xml").write_bytes(_site(core))
        (self.configuration / "hdfs-site.xml").write_bytes(_site(hdfs))
        (self.configuration / "log4j.properties").write_text(LOG4J, "utf-8")
        script = self.folder / "bin" / "hadoop"
        command = shlex.join([*self._java(), "-cp", self._class_path()])
        script.write_text(HADOOP.format(command=command), "utf-8")
        script.chmod(0o755)

    def _data_folder(self) -> Path:
        """Where the DataNodes keep their blocks."""
        if not self.parameters.data_directory:
            return self.folder
        folder = Path(self.parameters.data_directory).absolute() / self.folder.name
        self.make_folder(folder)
        return folder

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def _launch_on(
        self, node: Node, main: list[str], ready: Callable[[], bool], stage: int
    ) -> None:
        words = self.java_command(*main, process=node.name)
        if node.host is not None:
            self.run_in(node.host, node.name, words, ready, stage)
            return
        daemon = Daemon(node.name, words, self._log(node.name), ready, self.environment(),
                        self.folder, owned=not self.outlive)  # fmt: skip
        self.launch(daemon, stage)

    def _await_all(self) -> None:
        for daemon in self.daemons.values():
            daemon.wait_ready()

    def _namesystem(self) -> dict[str, Any]:
        bean = "Hadoop:service=NameNode,name=FSNamesystemState"
        return self._namenode.ask(bean) or {}

    def _safe_mode(self) -> str | None:
        """The reason for safe mode, "" when it is off, None when the NameNode does not answer."""
        seen = self._namenode.ask("Hadoop:service=NameNode,name=NameNodeInfo") or {}
        return seen.get("Safemode")

    def _namenode_serves(self) -> bool:
        """Whether it takes writes and knows every DataNode that runs (all, or the surviving)."""
        running = sum(d.state() == "running" for n, d in self.daemons.items() if n != "namenode")
        live = self._namesystem().get("NumLiveDataNodes", 0)
        return live >= running and self._safe_mode() == ""

    def _running_versions(self) -> dict[str, str]:
        node = self._namenode.ask("Hadoop:service=NameNode,name=NameNodeInfo") or {}
        machine = self._namenode.ask("java.lang:type=Runtime") or {}
        return {
            "hadoop": node.get("SoftwareVersion", "unknown"),
            "java": machine.get("VmVersion", "unknown"),
        }


def _shifted(ports: Mapping[str, int], number: int) -> dict[str, int]:
    """Ports of one of several DataNodes, which may share a host."""
    return {name: port + 100 * (number - 1) for name, port in ports.items()}


def _own_properties(node: Node, data: Path) -> list[str]:
    """The words that tell a DataNode its own addresses and directory."""
    own = {
        "dfs.datanode.data.dir": data.as_uri(),
        "dfs.datanode.hostname": node.address,
        "dfs.datanode.address": node.at("data"),
        "dfs.datanode.http.address": node.at("http"),
        "dfs.datanode.ipc.address": node.at("ipc"),
    }
    return [word for key, value in own.items() for word in ("-D", f"{key}={value}")]


def _entered(node: Node, words: list[str]) -> list[str]:
    """The command, in the node's host if it has one."""
    return words if node.host is None else node.host.command(words)


def _site(properties: Mapping[str, str]) -> bytes:
    """A Hadoop configuration file."""
    root = ElementTree.Element("configuration")
    for key, value in properties.items():
        entry = ElementTree.SubElement(root, "property")
        ElementTree.SubElement(entry, "name").text = key
        ElementTree.SubElement(entry, "value").text = value
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
