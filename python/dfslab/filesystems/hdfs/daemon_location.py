"""Locates the daemons of HDFS and reads the status that they report by JMX."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import Field, Json, JsonValue

from dfslab.documents.document import Document
from dfslab.testbeds.hosts.host import Host

# The names of ports, each with its default number. Daemons on separate hosts can use the defaults.
NAMENODE_PORTS = {"rpc": 8020, "http": 9870}
DATANODE_PORTS = {"data": 9866, "http": 9864, "ipc": 9867}
ANSWER_LIMIT_S = 20.0
# Ignore the environment's proxy settings for requests to local daemons.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Bean(Document):
    """Attributes of a JMX bean that a daemon reports. Each derived class sets NAME, the name of its
    bean.
    """

    NAME: ClassVar[str]


class LiveNode(Document):
    """A DataNode, as the NameNode lists it."""

    address: str | None = Field(None, alias="xferaddr")
    last_contact_s: int = Field(0, alias="lastContact")
    blocks: int = Field(0, alias="numBlocks")


class NameNodeInfo(Bean):
    """The NameNode's version, its DataNodes by name, its number of blocks, and the reason for safe
    mode ("" when safe mode is off)."""

    NAME = "Hadoop:service=NameNode,name=NameNodeInfo"
    version: str = Field("", alias="SoftwareVersion")
    live_nodes: Json[dict[str, LiveNode]] = Field({}, alias="LiveNodes")
    blocks: int = Field(0, alias="TotalBlocks")
    safe_mode: str | None = Field(None, alias="Safemode")


class NameSystem(Bean):
    """The NameNode's counts of space, files and DataNodes."""

    NAME = "Hadoop:service=NameNode,name=FSNamesystemState"
    size_bytes: int = Field(0, alias="CapacityTotal")
    free_bytes: int = Field(0, alias="CapacityRemaining")
    files: int = Field(0, alias="FilesTotal")
    blocks: int = Field(0, alias="BlocksTotal")
    live_datanodes: int | None = Field(None, alias="NumLiveDataNodes")
    dead_datanodes: int | None = Field(None, alias="NumDeadDataNodes")


class JavaMachine(Bean):
    """The version of the Java virtual machine that runs a daemon."""

    NAME = "java.lang:type=Runtime"
    version: str = Field("", alias="VmVersion")


class Actor(Document):
    """A DataNode's connection to one NameNode."""

    state: str = Field("", alias="ActorState")


class DataNodeInfo(Bean):
    """A DataNode's connections to all NameNodes."""

    NAME = "Hadoop:service=DataNode,name=DataNodeInfo"
    actors: Json[list[Actor]] | None = Field(None, alias="BPServiceActorInfo")


Attributes = TypeVar("Attributes", bound=Bean)


class BeanAnswer(Document):
    """A daemon's reply to a query for one JMX bean."""

    beans: list[JsonValue] = []


def only(kind: type[Attributes], answer: bytes) -> Attributes | None:
    """Parses a daemon's reply to a query for one JMX bean. Returns None where the reply has no
    bean. Raises ValidationError if the reply has another form."""
    beans = BeanAnswer.model_validate_json(answer).beans
    return kind.model_validate(beans[0]) if beans else None


@dataclass(frozen=True)
class DaemonLocation:
    """The location of a daemon.

    It has the daemon's host, the daemon's address, and the numbers of the daemon's ports by the
    ports' names. The host is None if the daemon runs directly on this machine.
    """

    name: str
    host: Host | None
    address: str
    ports: Mapping[str, int]

    def at(self, port: str) -> str:
        """Returns the address and the number of `port` in Hadoop's notation, HOST:PORT."""
        return f"{self.address}:{self.ports[port]}"

    def ask(self, kind: type[Attributes]) -> Attributes | None:
        """Returns the attributes of the daemon's JMX bean `kind`. Returns None when the daemon does
        not answer (yet).
        """

        def work() -> Attributes | None:
            return jmx(self.at("http"), kind)

        try:
            return work() if self.host is None else self.host.in_network(work)
        except OSError:
            return None


def stored(node: DaemonLocation, folder: Path) -> Path:
    """Returns the folder of a daemon's data: on the disk of its host, or in `folder` if the daemon
    has no host.
    """
    return (folder if node.host is None else node.host.disk) / node.name


def jmx(address: str, kind: type[Attributes]) -> Attributes | None:
    """Returns the attributes of the JMX bean `kind` of the daemon at `address`. Returns None when
    the daemon does not answer or lacks the bean.
    """
    url = f"http://{address}/jmx?qry={kind.NAME}"
    try:
        with _OPENER.open(url, timeout=ANSWER_LIMIT_S) as answer:
            return only(kind, answer.read())
    except (OSError, ValueError, urllib.error.URLError):
        return None


def datanode_serves(node: DaemonLocation) -> bool:
    """Returns whether a DataNode is registered with its NameNode and in contact with it."""
    attributes = node.ask(DataNodeInfo) or DataNodeInfo()
    return bool(attributes.actors) and all(
        actor.state == "RUNNING" for actor in attributes.actors or ()
    )
