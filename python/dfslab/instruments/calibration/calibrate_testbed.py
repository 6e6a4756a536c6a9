"""Measures the hardware of a testbed's hosts: disks, links, and processors under their limits.

The first host of every group of nodes is measured. Streams and round trips go to a host of another
group, the one with the fastest link, so that the measured group limits the rate where possible.
Page-cache hits are measured on the mounted file system if a host has one, else on the host's disk.
"""

from __future__ import annotations

import json
import platform
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dfslab.instruments import access
from dfslab.instruments.calibration.calibrate import (
    Kinds,
    Quantity,
    QuantityDocument,
    check_repeats,
    line,
    repeated,
)
from dfslab.instruments.calibration.calibrate import access as disk_access
from dfslab.instruments.calibration.probe import COPY_BYTES
from dfslab.method import RunFailed
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Scenario
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts import hardware
from dfslab.testbeds.hosts.host import Host
from dfslab.testbeds.mounted import MountedTestbed

FILE = ".dfslab-calibrate"
MeasuredHosts = dict[str, list[Quantity]]


def measure(
    scenario: Scenario, repeats: int, report: Callable[..., None] = lambda *_: None, seed: int = 0
) -> MeasuredHosts:
    """Measures the hardware of a testbed. Returns for each group of nodes, by name, the measured
    quantities of the group's first host.

    The scenario's testbed is started for the measurement. Raises InputError if the scenario has no
    testbed of several hosts, and RunFailed if a host does not answer.
    """
    check_repeats(repeats)
    if not scenario.file_system.access.testbed:
        allowed = "only the hosts of a testbed are measured: file_system.access.testbed = true"
        raise InputError("file_system.access.testbed", False, allowed)
    with access.session() as session:
        session.reach(scenario)
        cluster = session.testbed.cluster if session.testbed is not None else None
        if cluster is None:
            allowed = "needs several nodes; one node is this machine: dfslab calibrate without it"
            raise InputError("deployment.node", len(scenario.deployment.nodes()), allowed)
        groups = [group for _, group in scenario.deployment.nodes()]
        try:
            return _measured(
                cluster.hosts,
                groups,
                repeats,
                report,
                random.Random(seed),
                session.testbed.mount_point
                if isinstance(session.testbed, MountedTestbed)
                else None,
            )
        except TestbedError as error:
            raise RunFailed(str(error)) from error


def _measured(
    hosts: Sequence[Host],
    groups: Sequence[NodeGroup],
    repeats: int,
    report: Callable[..., None],
    chance: random.Random,
    mount: Path | None,
) -> MeasuredHosts:
    firsts: dict[str, tuple[Host, NodeGroup]] = {}
    for host, group in zip(hosts, groups, strict=True):
        firsts.setdefault(group.name, (host, group))
    found: MeasuredHosts = {}
    for name, (host, group) in firsts.items():
        others = [pair for pair in zip(hosts, groups, strict=True) if pair[0] is not host]
        peer, _ = max(others, key=lambda pair: pair[1].adapter.bandwidth)
        mounted = mount is not None and host.mounted(mount)
        kept = str(mount if mounted else host.disk) + f"/{FILE}"
        processor = _Processor(host, repeats, kept, _copied_bytes(group))
        path = host.path(host.disk) / FILE
        kinds = _kinds(host, peer, processor, path, chance)
        done, total = len(found) * len(kinds), len(firsts) * len(kinds)
        try:
            found[name] = repeated(
                kinds, repeats, report, f"on {host.name}", done * repeats, total * repeats
            )
        finally:
            path.unlink(missing_ok=True)
    return found


def _kinds(
    host: Host, peer: Host, processor: _Processor, path: Path, chance: random.Random
) -> Kinds:
    return [
        ("memory_copy_rate", "B/s", lambda: processor.next("memory_copy_rate")),
        ("system_call", "s", lambda: processor.next("system_call")),
        ("kept_read_rate", "B/s", lambda: processor.next("kept_read_rate")),
        ("kept_read_call", "s", lambda: processor.next("kept_read_call")),
        ("disk_write_rate", "B/s", lambda: hardware.direct_write(path)),
        ("disk_read_rate", "B/s", lambda: hardware.direct_read(path)),
        ("disk_access", "s", lambda: disk_access(path, chance)),
        ("network_rate", "B/s", lambda: hardware.stream(host, peer)),
        ("network_round_trip", "s", lambda: hardware.round_trip(host, peer)),
        ("loopback_round_trip", "s", lambda: hardware.round_trip(host, host)),
    ]


def _copied_bytes(group: NodeGroup) -> int:
    """Returns the size in bytes of the buffer for the memory copy.

    It is at most COPY_BYTES, and small enough for two such buffers and the daemons to fit into the
    host's memory limit.
    """
    return min(COPY_BYTES, int(group.memory) // 6)


class _Processor:
    """Runs the probe process inside a host once and keeps all results.

    The results are then returned one after the other, one for each repetition.
    """

    def __init__(self, host: Host, repeats: int, kept: str, copied_bytes: int) -> None:
        words = (
            sys.executable,
            "-P",
            "-m",
            "dfslab.instruments.calibration.probe",
            kept,
            str(copied_bytes),
        )
        self._answers = [json.loads(host.run(*words)) for _ in range(repeats)]
        self._taken: dict[str, int] = {}

    def next(self, name: str) -> float:
        at = self._taken.get(name, 0)
        self._taken[name] = at + 1
        return float(self._answers[at][name])


@dataclass(frozen=True)
class HostsDocument:
    """The profile of a testbed's hosts as JSON.

    `groups` has for each group of nodes its measured quantities by name.
    """

    kernel: str
    groups: dict[str, dict[str, QuantityDocument]]


def document(found: Mapping[str, Sequence[Quantity]]) -> HostsDocument:
    """Returns the measured quantities as a JSON profile."""
    groups = {
        name: {one.name: one.document() for one in quantities} for name, quantities in found.items()
    }
    return HostsDocument(platform.release(), groups)


def toml(found: MeasuredHosts, deployment: Deployment) -> str:
    """Returns a deployment in TOML with the measured disk and adapter of every group of nodes, and
    the network between them. Comments give the intervals."""
    by_group = {name: {one.name: one for one in found[name]} for name in found}
    count = len(next(iter(found.values()))[0].values)
    lines = [f"# Measured on hosts of a testbed, kernel {platform.release()}; {count} times each."]
    for group in deployment.node:
        peers = [one for one in deployment.node if one is not group or group.count > 1]
        fastest = max(peer.adapter.bandwidth for peer in peers)
        lines += _group(group, by_group[group.name], fastest)
    latency, loopback = (
        _lowest(by_name[f"{where}_round_trip"] for by_name in by_group.values())
        for where in ("network", "loopback")
    )
    # A round trip includes the latency of each node's adapter twice. The TOML declares the
    # adapter's latency separately, so it is subtracted here.
    own_s = min(group.adapter.latency for group in deployment.node)
    share = max(0.0, 0.5 - 2 * own_s / latency.mean)
    lines += [
        "[deployment.network]",
        line("latency", latency, share),
        line("loopback_latency", loopback, 0.5),
        "",
    ]
    return "\n".join(lines)


def _group(group: NodeGroup, by_name: Mapping[str, Quantity], fastest: float) -> list[str]:
    """Returns the TOML lines of one group of nodes. The declared disk rates are those of one of its
    disks.

    `fastest` is the declared rate of the peer's link in bytes per second.
    """
    each = 1 / group.disk.count
    # A stream runs at the rate of the slower of its two links. If this link is faster than the
    # peer's, the stream cannot show this link's rate.
    hidden = group.adapter.bandwidth > fastest
    rate = line("bandwidth", by_name["network_rate"])
    return [
        "[[deployment.node]]",
        f"name = {json.dumps(group.name)}",
        line("copy_rate", by_name["kept_read_rate"]),
        line("call_time", by_name["kept_read_call"]),
        "[deployment.node.disk]",
        line("read_rate", by_name["disk_read_rate"], each),
        line("write_rate", by_name["disk_write_rate"], each),
        line("latency", by_name["disk_access"]),
        "[deployment.node.adapter]",
        f"# No other host can take more: {rate}" if hidden else rate,
    ]


def _lowest(quantities: Iterable[Quantity]) -> Quantity:
    """Returns the shortest of several round trips. Longer ones include larger delays of
    adapters.
    """
    return min(quantities, key=lambda one: one.mean)
