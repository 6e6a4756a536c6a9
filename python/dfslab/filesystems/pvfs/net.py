"""Models PVFS as a Petri net at the level of the components of Nguyen & Apon 2012: clients,
network, servers, disks.

Reads and writes are separate nets, as in section 5.1 of the paper. A client splits each block into
one payload for every I/O server that the block touches (stripes, round robin). The network carries
a payload in units (packets, chunks or whole payloads). A server handles requests first come first
served. Reads are served in stripes, so streams of many clients interleave. Writes are reassembled
and go to a page cache with limits on dirty bytes. A write-back process cleans the cache and shares
the disk. A file is synced when it is closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dfslab.documents.net_run import CountMonitor, Until
from dfslab.filesystems.pvfs.net_parts import (
    FRAME_OVERHEAD_BYTES,
    GIB,
    GRAINS,
    KIB,
    MIB,
    MSS_BYTES,
    PaperHardware,
    Setup,
    SharedElements,
    acknowledge,
)
from dfslab.filesystems.pvfs.net_servers import read_server, write_server
from dfslab.filesystems.pvfs.net_trace import calls_of, gather, trace_net
from dfslab.nets.build import Net, Put, Take
from dfslab.nets.engine import run
from dfslab.nets.inscription import equal, number
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.calls import Done

__all__ = [
    "FRAME_OVERHEAD_BYTES",
    "GIB",
    "GRAINS",
    "KIB",
    "MIB",
    "MSS_BYTES",
    "PaperHardware",
    "SetupResult",
    "Setup",
    "grains",
    "read_net",
    "setup_of",
    "simulate",
    "write_net",
]


def write_net(setup: Setup) -> Net:
    """Returns the net in which clients write their files block by block and close them."""
    pvfs = SharedElements(setup)
    net, servers, k, c = pvfs.net, range(setup.servers), pvfs.constants, pvfs.caller
    out, arrived = net.place("out", pvfs.payload), net.place("arrived", pvfs.payload)
    pending, acks = net.place("pending", pvfs.waiting), net.place("acks", pvfs.one)
    net.transition(
        "issue",
        [Take(pvfs.ready, "c")],
        [
            Put(pending, [c["id"], c["block"] + 1, pvfs.touched()]),
            *(Put(out, [c["id"], number(at), pvfs.share(at), pvfs.share(at)]) for at in servers),
        ],
        guard=c["block"] < k["blocks"],
        delay=k["client_call_s"] + pvfs.block_bytes() / k["memory_rate_bytes_per_s"],
    )
    pvfs.carry("data", out, arrived, by="client", to="server")
    acknowledge(pvfs, pending, acks, pvfs.ready)
    close = net.place("close", pvfs.payload)
    closing = net.place("closing", pvfs.waiting)
    net.transition(
        "close",
        [Take(pvfs.ready, "c")],
        [
            Put(closing, [c["id"], c["block"], k["servers"]]),
            *(
                Put(close, [c["id"], number(at), number(0), number(0)], k["network_latency_s"])
                for at in servers
            ),
        ],
        guard=equal(c["block"], k["blocks"]),
        delay=k["client_call_s"],
    )
    synced = net.place("synced", pvfs.one)
    acknowledge(pvfs, closing, synced, pvfs.finished, "close_")
    write_server(pvfs, arrived, close, acks, synced)
    return net


def read_net(setup: Setup) -> Net:
    """Returns the net in which clients read their files block by block."""
    pvfs = SharedElements(setup)
    net, k, c = pvfs.net, pvfs.constants, pvfs.caller
    requested = net.place("asked", pvfs.asking)
    back, got = net.place("back", pvfs.payload), net.place("got", pvfs.payload)
    pending = net.place("pending", pvfs.waiting)
    call_s = k["client_call_s"] + k["network_latency_s"]
    ahead = pvfs.way["ahead"]
    net.transition(
        "issue",
        [Take(pvfs.ready, "c")],
        [
            Put(pending, [c["id"], c["block"] + 1, pvfs.block_bytes()]),
            *(
                Put(requested, [c["id"], number(at), pvfs.share(at), pvfs.share(at), ahead], call_s)
                for at in range(setup.servers)
            ),
        ],
        guard=c["block"] < k["blocks"],
    )
    gather(pvfs, requested, got, pending)
    net.transition(
        "close",
        [Take(pvfs.ready, "c")],
        [Put(pvfs.finished, "c")],
        guard=equal(c["block"], k["blocks"]),
        delay=k["client_call_s"],
    )
    read_server(pvfs, requested, back)
    pvfs.carry("data", back, got, by="server", to="client")
    return net


@dataclass(frozen=True)
class SetupResult:
    """The result of simulating one setup. The throughput is the bytes of all clients divided by the
    seconds until the last client is done.
    """

    setup: Setup
    throughput_bytes_per_s: float
    time_s: float
    firings: int
    operations: int

    @property
    def rate_per_s(self) -> float:
        """The operations of all clients per second, until the last client is done."""
        return self.operations / self.time_s


NETS = {
    "write": (write_net, "close_last_answer"),
    "read": (read_net, "close"),
    "replay": (trace_net, "leave"),
}


def simulate(setup: Setup, seed: int = 0, operations: int = 0) -> SetupResult:
    """Fires the net of a setup until the last client is done. `operations` is the number of
    operations of each client.
    """
    build, closing = NETS[setup.operation]
    net = build(setup)
    (report,) = run(
        net,
        seed=seed,
        monitors={"ends": CountMonitor(transition=closing)},
        until=Until(monitor="ends", count=setup.clients),
    )
    if report.reason != "until":
        done = report.counts["ends"].count
        left = ", ".join(f"{place} ({count})" for place, count in report.left.items())
        raise InputError(
            "net",
            net.title,
            f"stopped with {done} of {setup.clients} clients done"
            + (f"; tokens are left in {left}" if left else ""),
        )
    time_s = report.end_time_ns / 1e9
    whole = setup.clients * setup.file_size
    moved = sum(one.total_bytes for one in setup.calls) if setup.calls else whole
    return SetupResult(setup, moved / time_s, time_s, report.firings, operations or setup.clients)


def grains(setup: Setup) -> Mapping[str, SetupResult]:
    """Returns the results of simulating the setup at every level of network detail."""
    return {grain: simulate(replace(setup, grain=grain)) for grain in GRAINS}


class Replayed(Protocol):
    """The operations of a replayed trace, which the net reads."""

    @property
    def done(self) -> Sequence[Done]:
        """The operations in the order of the trace."""

    def due_of_done(self) -> list[float]:
        """Scheduled starts of the operations `done` in seconds; empty if operations run back to
        back.
        """


class Configuration(Protocol):
    """The properties of a configuration that the net of components is built from."""

    @property
    def scenario(self) -> Scenario:
        """The deployment, file system and workload."""

    @property
    def environment(self) -> Mapping[str, float]:
        """The values of the description's symbols: symbol -> value in SI units."""

    @property
    def mix(self) -> Mapping[str, float]:
        """The workload's mix: operation -> its share of all operations."""

    @property
    def trace(self) -> Replayed | None:
        """The replayed trace, if the workload is one."""


def setup_of(situation: Configuration) -> Setup:
    """Returns the net's setup for a configuration: one sequential file per client, or the calls of
    a trace.

    Hardware declared in a deployment replaces that of Nguyen & Apon 2012. A disk's latency stands
    for seek and rotation together. Memory and processors keep the paper's figures.
    """
    scenario = situation.scenario
    values = situation.environment
    (io,), (client,) = (scenario.deployment.groups_of(role)[:1] for role in ("server", "client"))
    hardware = PaperHardware(
        network_rate_bytes_per_s=min(io.adapter.bandwidth, client.adapter.bandwidth),
        network_latency_s=scenario.deployment.network.latency,
        memory_bytes=int(io.memory),
        disk_seek_s=io.disk.latency,
        disk_rotation_s=0.0,
        disk_channels=io.disk.count,
        disk_read_rate_bytes_per_s=io.disk.read_rate,
        disk_write_rate_bytes_per_s=io.disk.write_rate,
    )
    servers, stripe = int(values["stripe_count"]), int(values["stripe_size"])
    warm, clients = scenario.workload.cache == "warm", scenario.workload.clients
    if situation.trace is not None:
        trace = situation.trace
        calls = calls_of(trace.done, servers, stripe, warm, trace.due_of_done())
        return Setup(
            "replay",
            clients,
            servers,
            stripe_size=stripe,
            block_size=stripe,
            cached=warm,
            hardware=hardware,
            calls=calls,
        )
    kinds = {"read": "read", "write": "write"}
    if len(situation.mix) != 1 or next(iter(situation.mix)) not in kinds:
        allowed = "the net of PVFS knows whole files, read or written, and traces"
        raise InputError("workload.name", scenario.workload.name, allowed)
    (operation,) = situation.mix
    return Setup(
        operation,
        clients,
        servers,
        int(values["file_size"]),
        int(values["transfer_size"]),
        stripe,
        cached=warm,
        hardware=hardware,
    )
