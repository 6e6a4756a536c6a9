"""The default deployment of a file system: dedicated nodes for metadata servers, data servers and
clients.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dfslab.spec.deployment import Adapter, Deployment, Disk, Network, NodeGroup
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.filesystem import FileSystem
from dfslab.spec.units import parse

UNLIMITED = math.inf
# The rate in bytes/s that replaces UNLIMITED in the text of a deployment, because a text can only
# have finite numbers. No hardware reaches this rate.
RECORDED_UNLIMITED = 1e15


def standard(
    system: FileSystem,
    servers: int,
    clients: int,
    link_bytes_per_s: float = UNLIMITED,
    delay_s: float = 0.0,
    disk_bytes_per_s: float = UNLIMITED,
) -> Deployment:
    """Returns a deployment with standard places of the roles. The metadata roles are on one node,
    the data roles are on `servers` nodes, and there are `clients` client nodes. The rates of links
    and disks are in bytes/s. `delay_s`: one-way latency of the network in seconds.

    If `servers` is 0, there are as many data nodes as the file system's default says. A testbed
    does not limit a rate that is UNLIMITED; a model cannot use such a rate.
    """
    adapter = Adapter.model_construct(bandwidth=link_bytes_per_s, latency=0.0, burst=0.0)
    plain = Disk()
    disk = Disk.model_construct(
        **{**plain.__dict__, "read_rate": disk_bytes_per_s, "write_rate": disk_bytes_per_s}
    )
    usual = max((role.instances for role in system.roles if role.kind == "data"), default=1)
    counts = {"metadata": 1, "data": servers or usual, "client": clients}
    groups = []
    for kind, count in counts.items():
        roles = {role.name: 1 for role in system.roles if role.kind == kind}
        if roles:
            name = {"metadata": "master", "data": "server"}.get(kind, kind)
            plain_group = NodeGroup(name=name, count=count, roles=roles)
            groups.append(plain_group.model_copy(update={"adapter": adapter, "disk": disk}))
    network = Network.model_construct(**{**Network().__dict__, "latency": delay_s})
    return Deployment.model_construct(node=groups, network=network, tolerance=0.05)


def recordable(deployment: Deployment) -> Deployment:
    """Returns the deployment with finite rates: RECORDED_UNLIMITED instead of UNLIMITED."""
    return _with_rates(deployment, lambda rate: min(rate, RECORDED_UNLIMITED))


def recorded(deployment: Deployment) -> Deployment:
    """Undoes `recordable`: returns the deployment with UNLIMITED for every rate that is at least
    RECORDED_UNLIMITED."""
    return _with_rates(deployment, lambda rate: UNLIMITED if rate >= RECORDED_UNLIMITED else rate)


def _with_rates(deployment: Deployment, changed: Callable[[float], float]) -> Deployment:
    nodes = []
    for group in deployment.node:
        disk = group.disk.model_copy(
            update={
                "read_rate": changed(group.disk.read_rate),
                "write_rate": changed(group.disk.write_rate),
            }
        )
        bandwidth = changed(group.adapter.bandwidth)
        adapter = group.adapter.model_copy(update={"bandwidth": bandwidth})
        nodes.append(group.model_copy(update={"disk": disk, "adapter": adapter}))
    return deployment.model_copy(update={"node": nodes})


def rate(key: str, text: str) -> float:
    """Converts text ("1Gbit", "60MiB/s") to a rate in bytes/s. Empty text means unlimited. Raises
    InputError for `key` if the text is not a rate."""
    if not text:
        return UNLIMITED
    return _read(key, text if "/" in text else f"{text}/s", "B/s")


def delay(key: str, text: str) -> float:
    """Converts text ("0.5ms") to a delay in seconds. Empty text means 0. Raises InputError for
    `key` if the text is not a time."""
    return _read(key, text, "s") if text else 0.0


def _read(key: str, text: str, unit: str) -> float:
    try:
        return parse(text, unit)
    except ValueError as error:
        raise InputError(key, text, str(error)) from error
