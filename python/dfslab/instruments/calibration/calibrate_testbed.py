"""Measures the hardware of a testbed's hosts: disks, links, and processors under their limits.

The first host of every group of nodes is measured. Its network is measured by streams and round
trips to a peer, which is one of the other hosts. The peer is the host with the fastest link, so
that the link of the measured host limits the rate where possible. Page-cache hits are measured on
the mounted file system if the measured host mounts it, and otherwise on the host's disk.
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
from dfslab.instruments.calibration import calibrate, network_probe
from dfslab.instruments.calibration.probe import COPY_BYTES
from dfslab.instruments.calibration.quantities import (
    HardwareProbe,
    Quantity,
    QuantityDocument,
    Report,
    check_repeats,
    line,
    remark,
    repeated,
    single,
)
from dfslab.method import RunFailed
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.testbeds.capabilities import Mounting
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts import hardware
from dfslab.testbeds.hosts.host import Host

FILE = ".dfslab-calibrate"
PROBE_MODULE = "dfslab.instruments.calibration.probe"
MeasuredHosts = dict[str, list[Quantity]]


def measure(
    scenario: Scenario, repeats: int, report: Report = lambda *_: None, seed: int = 0
) -> MeasuredHosts:
    """Starts the scenario's testbed and measures the hardware of its hosts. Only the first host of
    each group of nodes is measured. Returns the measured quantities by the name of the group.

    Raises InputError if the scenario has no testbed of several hosts, and RunFailed if a host does
    not answer.
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
                session.testbed.mount_point if isinstance(session.testbed, Mounting) else None,
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
        path = host.path(host.disk) / FILE
        probes = [
            _processor_probe(host, kept, _copied_bytes(group)),
            *calibrate.disk_probes(path, chance),
            *_network_probes(host, peer),
        ]
        done, total = len(found) * len(probes), len(firsts) * len(probes)
        try:
            found[name] = repeated(
                probes, repeats, report, f"on {host.name}", done * repeats, total * repeats
            )
        finally:
            path.unlink(missing_ok=True)
    return found


def _network_probes(host: Host, peer: Host) -> list[HardwareProbe]:
    """Returns the probes of the path from `host` to `peer`, and of the loopback of `host`."""
    several = f"network_rate_{network_probe.STREAMS}_streams"
    return [
        single("network_rate", "B/s", lambda: hardware.stream(host, peer)),
        single(several, "B/s", lambda: network_probe.several_streams(host, peer)),
        single("network_round_trip", "s", lambda: hardware.round_trip(host, peer)),
        single(
            "network_round_trip_loaded", "s", lambda: network_probe.loaded_round_trip(host, peer)
        ),
        single("loopback_round_trip", "s", lambda: hardware.round_trip(host, host)),
    ]


def _copied_bytes(group: NodeGroup) -> int:
    """Returns the size in bytes of each of the two buffers with which the rate of copying memory is
    measured.

    The size is at most COPY_BYTES. The size is smaller if two such buffers and the daemons would
    not fit into the host's memory limit.
    """
    return min(COPY_BYTES, int(group.memory) // 6)


def _processor_probe(host: Host, kept: str, copied_bytes: int) -> HardwareProbe:
    """Returns the probe of a host's processor. The probe runs as a process in the host, within the
    host's limits.

    `kept` is a path in the host. The probe writes files next to it and reads them from the page
    cache. `copied_bytes` is the size of each buffer with which the copying of memory is measured.
    """
    words = (sys.executable, "-P", "-m", PROBE_MODULE, kept, str(copied_bytes))
    units = json.loads(host.run(sys.executable, "-P", "-m", PROBE_MODULE, "--units", kept))
    return HardwareProbe(units, lambda: json.loads(host.run(*words)))


@dataclass(frozen=True)
class HostsDocument:
    """The profile of the hosts of a testbed or a cluster as JSON.

    `kernel` is the release of the kernel. `kernel` is "" for a cluster, whose hosts may have
    different kernels. `groups` has the measured quantities of each group of nodes, by the name of
    the group.
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
    """Returns a deployment in TOML. The deployment has the measured disk and network adapter of
    each group of nodes, and the network between the groups. Comments give the confidence intervals.
    """
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
    # The latency of the network in one direction is round trip / 2 - 2 * own_s. `own_s` is the
    # lowest latency of an adapter. The TOML declares the latency of adapters separately, and a
    # message passes two adapters.
    own_s = min(group.adapter.latency for group in deployment.node)
    share = max(0.0, 0.5 - 2 * own_s / latency.mean)
    lines += [
        "[deployment.network]",
        line("latency", latency, share),
        line("loopback_latency", loopback, 0.5),
        calibrate.window_line(),
        "",
    ]
    return "\n".join(lines)


def _group(group: NodeGroup, by_name: Mapping[str, Quantity], fastest: float) -> list[str]:
    """Returns the TOML lines of one group of nodes. The disk rates in these lines are the rates of
    a single disk of a node.

    `fastest` is the rate, in bytes per second, of the fastest link among the other hosts, as the
    scenario declares it.
    """
    each = 1 / group.disk.count
    # A stream uses the link of this group and the link of a peer, and the slower link limits its
    # rate. If the link of this group is the faster one, a stream cannot measure its rate.
    several = f"network_rate_{network_probe.STREAMS}_streams"
    is_faster_than_peer = group.adapter.bandwidth > fastest
    rate = line("bandwidth", by_name["network_rate"])
    return [
        "[[deployment.node]]",
        f"name = {json.dumps(group.name)}",
        line("copy_rate", by_name["kept_read_rate"]),
        line("call_time", by_name["kept_read_call"]),
        *calibrate.processor_remarks(by_name),
        "[deployment.node.disk]",
        line("read_rate", by_name["disk_read_rate"], each),
        line("write_rate", by_name["disk_write_rate"], each),
        line("latency", by_name["disk_access"]),
        *calibrate.disk_remarks(by_name),
        "[deployment.node.adapter]",
        f"# No other host can take more: {rate}" if is_faster_than_peer else rate,
        remark(f"{network_probe.STREAMS} streams at once", by_name[several]),
        remark("Round trip while a stream runs", by_name["network_round_trip_loaded"]),
    ]


def _lowest(quantities: Iterable[Quantity]) -> Quantity:
    """Returns the round trip with the lowest mean. The latency of the adapters lengthens each round
    trip. The shortest round trip contains the least of this latency.
    """
    return min(quantities, key=lambda one: one.mean)
