"""Derives link and disk limits from a deployment, and checks that this machine can emulate it.
A check compares a measured quantity with its declared value."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field

from dfslab.spec import units
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts import kernel
from dfslab.testbeds.hosts.network import MOST_HOSTS, EmulatedLink

# The name of a checked time. All other checked quantities are rates.
ROUND_TRIP = "round trip"


@dataclass(frozen=True)
class Check:
    """One measured quantity of one host, compared with its declared value.

    `declared` is None if the quantity is not emulated. `allowed` is the largest permitted
    difference between the measured and the declared value. `holds`: whether the difference is at
    most `allowed`. Values are in bytes per second, or in seconds for a
    round trip.
    """

    host: str
    quantity: str
    declared: float | None
    measured: float
    allowed: float
    holds: bool = field(init=False)

    def __post_init__(self) -> None:
        within = self.declared is None or abs(self.measured - self.declared) <= self.allowed
        # This is the only way in which a frozen dataclass can set a field that depends on other
        # fields.
        object.__setattr__(self, "holds", within)

    def difference(self) -> str:
        """Returns the declared and the measured value, and how far they may differ, as text."""
        unit = "s" if self.quantity == ROUND_TRIP else "B/s"
        values = (self.declared or 0.0, self.measured, self.allowed)
        declared, measured, allowed = (units.text(value, unit) for value in values)
        return f"declared {declared}, measured {measured}, may differ by {allowed}"


def busy_words(load_per_core: float) -> str:
    """Returns the start of the advice after a failed check: to wait if other work keeps this
    machine busy, otherwise "". `load_per_core`: the load average of this machine divided by its
    number of processors."""
    if load_per_core <= 1:
        return ""
    return f"this machine is busy ({load_per_core:.1f} tasks for each processor): wait, or "


def load_per_core() -> float:
    """Returns this machine's load average of the last minute, divided by the number of
    processors."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def link_of(group: NodeGroup, deployment: Deployment) -> EmulatedLink:
    """Returns the link to emulate for a node of a group.

    An infinite bandwidth means that the rate is not limited.
    """
    rate = group.adapter.bandwidth
    between = deployment.network
    return EmulatedLink(
        rate_bytes_per_s=None if math.isinf(rate) else rate,
        # A message passes the adapters of two hosts. The delays of both adapters are emulated at
        # the receiving host.
        delay_s=between.latency + 2 * group.adapter.latency,
        jitter_s=between.jitter,
        loss=between.loss,
    )


def disk_limits(group: NodeGroup) -> dict[str, float]:
    """Returns the rate limits of a node's disks by the name of the limit. Each limit is the total
    over all disks of the node. Infinite rates are left out."""
    declared = group.disk
    rates = {
        "read_bytes_per_s": declared.read_rate * declared.count,
        "write_bytes_per_s": declared.write_rate * declared.count,
    }
    limits = {name: rate for name, rate in rates.items() if not math.isinf(rate)}
    if declared.iops:
        limits |= {"read_per_s": declared.iops, "write_per_s": declared.iops}
    return limits


def cores_of(group: NodeGroup) -> float:
    """Returns the number of cores of this machine that a node's processors get."""
    return float(group.processors * group.cores * group.share)


def not_made(deployment: Deployment) -> list[str]:
    """Returns the declared properties of a deployment that this machine cannot emulate.

    The hosts can run without these properties.
    """
    groups = {group.name: group for _, group in deployment.nodes()}.values()
    here = os.cpu_count() or 1
    lacking = kernel.lacks("memory limits")
    if any(cores_of(group) < here for group in groups):
        lacking += kernel.lacks("cpu limits")
    return lacking + [
        f"{group.name} declares {cores_of(group):g} cores; it shares the {here} of this machine"
        for group in groups
        if cores_of(group) > here
    ]


def check_machine(deployment: Deployment) -> None:
    """Raises TestbedError for the first requirement of the deployment that this machine does not
    meet."""
    doing = "starting hosts"
    if programs := kernel.missing_programs():
        raise TestbedError("missing_program", doing, f"install {' '.join(programs)} (Debian)")
    nodes = deployment.nodes()
    if len(nodes) > MOST_HOSTS:
        raise TestbedError(
            "state", doing, f"{len(nodes)} nodes; a testbed has at most {MOST_HOSTS}"
        )
    links = [link_of(group, deployment) for _, group in nodes]
    needed = ["namespaces", "veth", "bridge", "loop"]
    if any(link.rate_bytes_per_s is not None for link in links):
        needed.append("tbf")
    if any(link.delayed for link in links) and not kernel.has("netem"):
        needed.append("nfqueue")
    if any(disk_limits(group) for _, group in nodes):
        needed.append("disk limits")
    if lacking := kernel.lacks(*needed):
        raise TestbedError("state", doing, lacking[0])
    if len({group.adapter.latency for _, group in nodes}) > 1:
        raise TestbedError(
            "state",
            doing,
            "adapters of different latency are not made; use deployment.network.latency",
        )
