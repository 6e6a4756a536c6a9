"""A real HDFS on this machine: one NameNode and N DataNodes, each a JVM process of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self
from xml.etree import ElementTree

from pydantic import AliasChoices, BeforeValidator, Field, field_validator, model_validator

from dfslab.beds.agent import agent_jar, java_option
from dfslab.beds.base import BaseBed, Notify
from dfslab.beds.cache import maven_jars, program
from dfslab.beds.daemon import Daemon, run_to_end
from dfslab.beds.ports import LOOPBACK
from dfslab.spec.model import InputError, Model, build, unknown
from dfslab.spec.units import Bytes, parse

POM = Path(__file__).with_name("pom.xml")
POINTS = Path(__file__).with_name("points.txt")
NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
NAMENODE_PORTS = ("rpc", "http")
DATANODE_PORTS = ("data", "http", "ipc")
FORMAT_LIMIT_S = 60.0
ANSWER_LIMIT_S = 5.0
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
exec {command} "$main" "$@"
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
    (or the bed's own folder, which goes with the bed).
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
    prefetch_blocks: int = Field(10, ge=1)
    close_committed_allowed: int = Field(1, ge=0)
    complete_retry_delay_s: Delay = Field(0.4, ge=0, validation_alias=_either(
        "complete_retry_delay_s", "complete_retry_delay"))  # fmt: skip
    heap_bytes: Bytes = 256 * MIB
    version: str = "3.4.3"
    data_directory: str = ""
    trace: bool = False
    trace_directory: str = ""
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
        decided = decided_properties(self, Path(), "", 0)
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


def decided_properties(
    parameters: BedParameters, folder: Path, uri: str, http_port: int
) -> dict[str, str]:
    """Hadoop's properties that follow from the bed's parameters, the same for every daemon."""
    block_size_bytes = int(parameters.block_size_bytes)
    return {
        "fs.defaultFS": uri,
        "hadoop.tmp.dir": str(folder / "tmp"),
        "dfs.namenode.name.dir": (folder.absolute() / "namenode").as_uri(),
        "dfs.namenode.http-address": f"{LOOPBACK}:{http_port}",
        "dfs.datanode.hostname": LOOPBACK,
        # All DataNodes share one address, which does not resolve to a name.
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.fs-limits.min-block-size": "16",
        # Nothing is lost by leaving safe mode at once: the blocks of a new bed are all known.
        "dfs.namenode.safemode.extension": "0",
        "dfs.replication": str(parameters.replication),
        "dfs.blocksize": str(block_size_bytes),
        "dfs.client-write-packet-size": str(int(parameters.packet_size_bytes)),
        "dfs.namenode.handler.count": str(parameters.handler_count),
        "dfs.client.read.prefetch.size": str(parameters.prefetch_blocks * block_size_bytes),
        # Else a close that comes before the DataNode's report waits for the client's back-off.
        "dfs.namenode.file.close.num-committed-allowed": str(parameters.close_committed_allowed),
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": str(
            round(parameters.complete_retry_delay_s * 1000)
        ),
    }


def jmx(port: int, bean: str) -> dict[str, Any] | None:
    """What a daemon says of one bean; None when it does not answer, or has no such bean (yet)."""
    url = f"http://{LOOPBACK}:{port}/jmx?qry={bean}"
    try:
        with _OPENER.open(url, timeout=ANSWER_LIMIT_S) as answer:
            beans = json.load(answer)["beans"]
    except (OSError, ValueError, urllib.error.URLError):
        return None
    return beans[0] if beans else None


def datanode_serves(port: int) -> bool:
    """Whether a DataNode is registered with its NameNode and in contact with it."""
    seen = jmx(port, "Hadoop:service=DataNode,name=DataNodeInfo") or {}
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
        rpc, http, *rest = self._record.ports
        self._http_port = http
        uri = f"hdfs://{LOOPBACK}:{rpc}"
        self._now(uri=uri)
        self._write_configuration(uri, http)
        formatting = self.java_command(NAMENODE, "-format", "-nonInteractive", process="")
        run_to_end(
            "formatting the NameNode", formatting, self._log("format"), self.environment(),
            self.folder, FORMAT_LIMIT_S,
        )  # fmt: skip
        self.launch(self._daemon("namenode", [NAMENODE], self._namenode_serves), stage=0)
        data = self._data_folder()
        for number in range(1, self.parameters.datanodes + 1):
            ports, rest = rest[: len(DATANODE_PORTS)], rest[len(DATANODE_PORTS) :]
            self.launch(self._datanode(number, ports, data), stage=1)
        self._await_all()
        self._now(versions=self._running_versions())

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
            "-Djava.net.preferIPv4Stack=true",
        ]  # fmt: skip

    def trace_options(self, process: str = "client") -> list[str]:
        """What makes any JVM write its profile here; nothing in a bed without `trace`."""
        if not (self.parameters.trace and process):
            return []
        service = process.partition("-")[0]
        return [java_option(agent_jar(), POINTS, self.profiles, service, process)]

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

    @staticmethod
    def _jars(parameters: BedParameters, notify: Notify = lambda text: None) -> Path:
        version = parameters.version
        return maven_jars(f"hadoop-{version}", POM, {"hadoop.version": version}, notify)

    def _write_configuration(self, uri: str, http_port: int) -> None:
        for name in ("tmp", "logs", "bin", "conf/webapps/hdfs", "conf/webapps/datanode"):
            (self.folder / name).mkdir(parents=True)
        decided = decided_properties(self.parameters, self.folder, uri, http_port)
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

    def _daemon(self, name: str, main: list[str], ready: Callable[[], bool]) -> Daemon:
        return Daemon(
            name, self.java_command(*main, process=name), self._log(name), ready,
            self.environment(), self.folder, owned=not self.outlive,
        )  # fmt: skip

    def _datanode(self, number: int, ports: list[int], data: Path) -> Daemon:
        name = f"datanode-{number}"
        port = dict(zip(DATANODE_PORTS, ports, strict=True))
        own = {
            "dfs.datanode.data.dir": (data / name).as_uri(),
            "dfs.datanode.address": f"{LOOPBACK}:{port['data']}",
            "dfs.datanode.http.address": f"{LOOPBACK}:{port['http']}",
            "dfs.datanode.ipc.address": f"{LOOPBACK}:{port['ipc']}",
        }
        words = [word for key, value in own.items() for word in ("-D", f"{key}={value}")]
        return self._daemon(name, [DATANODE, *words], lambda: datanode_serves(port["http"]))

    def _await_all(self) -> None:
        for daemon in self.daemons.values():
            daemon.wait_ready()

    def _namesystem(self) -> dict[str, Any]:
        bean = "Hadoop:service=NameNode,name=FSNamesystemState"
        return jmx(self._http_port, bean) or {}

    def _safe_mode(self) -> str | None:
        """The reason for safe mode, "" when it is off, None when the NameNode does not answer."""
        seen = jmx(self._http_port, "Hadoop:service=NameNode,name=NameNodeInfo") or {}
        return seen.get("Safemode")

    def _namenode_serves(self) -> bool:
        """Whether it takes writes and knows every DataNode that runs (all, or the surviving)."""
        running = sum(d.state() == "running" for n, d in self.daemons.items() if n != "namenode")
        live = self._namesystem().get("NumLiveDataNodes", 0)
        return live >= running and self._safe_mode() == ""

    def _running_versions(self) -> dict[str, str]:
        node = jmx(self._http_port, "Hadoop:service=NameNode,name=NameNodeInfo") or {}
        machine = jmx(self._http_port, "java.lang:type=Runtime") or {}
        return {
            "hadoop": node.get("SoftwareVersion", "unknown"),
            "java": machine.get("VmVersion", "unknown"),
        }


def _site(properties: Mapping[str, str]) -> bytes:
    """A Hadoop configuration file."""
    root = ElementTree.Element("configuration")
    for key, value in properties.items():
        entry = ElementTree.SubElement(root, "property")
        ElementTree.SubElement(entry, "name").text = key
        ElementTree.SubElement(entry, "value").text = value
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
