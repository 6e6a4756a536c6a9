"""A daemon of HDFS: its location, and the status that it reports."""

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

# Names of the ports, and the default numbers, which daemons on separate hosts can use.
NAMENODE_PORTS = {"rpc": 8020, "http": 9870}
DATANODE_PORTS = {"data": 9866, "http": 9864, "ipc": 9867}
ANSWER_LIMIT_S = 20.0
# Ignore proxy settings of the environment for requests to local daemons.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Bean(Document):
    """Attributes of one JMX bean of a daemon; derived classes set its NAME."""

    NAME: ClassVar[str]


class LiveNode(Document):
    """A DataNode, as the NameNode lists it."""

    address: str | None = Field(None, alias="xferaddr")
    last_contact_s: int = Field(0, alias="lastContact")
    blocks: int = Field(0, alias="numBlocks")


class NameNodeInfo(Bean):
    """The NameNode: its version, its DataNodes by name, and the reason for safe mode."""

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
    """The Java virtual machine of a daemon."""

    NAME = "java.lang:type=Runtime"
    version: str = Field("", alias="VmVersion")


class Actor(Document):
    """A DataNode's connection to a NameNode."""

    state: str = Field("", alias="ActorState")


class DataNodeInfo(Bean):
    """A DataNode's connections to NameNodes."""

    NAME = "Hadoop:service=DataNode,name=DataNodeInfo"
    actors: Json[list[Actor]] | None = Field(None, alias="BPServiceActorInfo")


Attributes = TypeVar("Attributes", bound=Bean)


class BeanAnswer(Document):
    """A daemon's answer to a query for one bean."""

    beans: list[JsonValue] = []


def only(kind: type[Attributes], answer: bytes) -> Attributes | None:
    """Returns the bean of a daemon's answer; None where it has none. ValidationError for another
    form."""
    beans = BeanAnswer.model_validate_json(answer).beans
    return kind.model_validate(beans[0]) if beans else None


@dataclass(frozen=True)
class DaemonLocation:
    """The location of a daemon: a host (None: this machine), its address and its ports by name."""

    name: str
    host: Host | None
    address: str
    ports: Mapping[str, int]

    def at(self, port: str) -> str:
        """Returns address and port in Hadoop's notation."""
        return f"{self.address}:{self.ports[port]}"

    def ask(self, kind: type[Attributes]) -> Attributes | None:
        """Returns the attributes of one JMX bean of the daemon; None when the daemon does not
        answer (yet)."""

        def work() -> Attributes | None:
            return jmx(self.at("http"), kind)

        try:
            return work() if self.host is None else self.host.in_network(work)
        except OSError:
            return None


def stored(node: DaemonLocation, folder: Path) -> Path:
    """Returns the folder of a daemon's data: on its host's disk, else in `folder`."""
    return (folder if node.host is None else node.host.disk) / node.name


def jmx(address: str, kind: type[Attributes]) -> Attributes | None:
    """Returns the attributes of one JMX bean of a daemon; None when the daemon does not answer, or
    lacks the bean."""
    url = f"http://{address}/jmx?qry={kind.NAME}"
    try:
        with _OPENER.open(url, timeout=ANSWER_LIMIT_S) as answer:
            return only(kind, answer.read())
    except (OSError, ValueError, urllib.error.URLError):
        return None


def datanode_serves(node: DaemonLocation) -> bool:
    """Whether a DataNode is registered with its NameNode and in contact with it."""
    attributes = node.ask(DataNodeInfo) or DataNodeInfo()
    return bool(attributes.actors) and all(
        actor.state == "RUNNING" for actor in attributes.actors or ()
    )
