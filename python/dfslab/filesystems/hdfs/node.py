"""A daemon of HDFS: its location, and the status that it reports."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dfslab.testbeds.hosts.host import Host

# Names of the ports, and the default numbers, which daemons on separate hosts can use.
NAMENODE_PORTS = {"rpc": 8020, "http": 9870}
DATANODE_PORTS = {"data": 9866, "http": 9864, "ipc": 9867}
ANSWER_LIMIT_S = 20.0
# Ignore proxy settings of the environment for requests to local daemons.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Node:
    """The location of a daemon: a host (None: this machine), its address and its ports by name."""

    name: str
    host: Host | None
    address: str
    ports: Mapping[str, int]

    def at(self, port: str) -> str:
        """Address and port in Hadoop's notation."""
        return f"{self.address}:{self.ports[port]}"

    def ask(self, bean: str) -> dict[str, Any] | None:
        """The attributes of one JMX bean of the daemon; None when it does not answer, or not
        yet."""

        def work() -> dict[str, Any] | None:
            return jmx(self.at("http"), bean)

        try:
            return work() if self.host is None else self.host.in_network(work)
        except OSError:
            return None


def stored(node: Node, folder: Path) -> Path:
    """The folder of a daemon's data: on its host's disk, else in `folder`."""
    return (folder if node.host is None else node.host.disk) / node.name


def jmx(address: str, bean: str) -> dict[str, Any] | None:
    """The attributes of one JMX bean of a daemon; None when it does not answer, or lacks the
    bean."""
    url = f"http://{address}/jmx?qry={bean}"
    try:
        with _OPENER.open(url, timeout=ANSWER_LIMIT_S) as answer:
            beans = json.load(answer)["beans"]
    except (OSError, ValueError, urllib.error.URLError):
        return None
    return beans[0] if beans else None


def datanode_serves(node: Node) -> bool:
    """Whether a DataNode is registered with its NameNode and in contact with it."""
    attributes = node.ask("Hadoop:service=DataNode,name=DataNodeInfo") or {}
    actors = json.loads(attributes.get("BPServiceActorInfo") or "[]")
    return bool(actors) and all(actor.get("ActorState") == "RUNNING" for actor in actors)
