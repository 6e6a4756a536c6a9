"""Models PVFS as a Petri net with the components of Nguyen & Apon 2012: clients, network, servers,
disks.

Reads and writes are separate nets, as in section 5.1 of the paper. A file is striped round robin
over the I/O servers. For each block of the file, a client sends or receives one payload for every
I/O server that stores a part of the block. The network transfers a payload in units (packets,
chunks or whole payloads). A server handles requests first come first served.

A read is served stripe by stripe, so streams of many clients interleave. A write takes two round
trips: first the server admits the request, then the client sends the data. The server collects the
data in flow buffers, and writes these to its page cache, which has limits on dirty bytes. A
write-back process writes dirty pages to the disk, concurrently with reads of the disk. A written
file is synced when it is closed, unless `sync_on_close` is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dfslab.documents.net_run import CountMonitor, MarkingMonitor, Until
from dfslab.filesystems.pvfs.net_parts import SharedElements, acknowledge
from dfslab.filesystems.pvfs.net_servers import admit, read_server, write_server
from dfslab.filesystems.pvfs.net_setup import (
    FRAME_OVERHEAD_BYTES,
    GIB,
    GRAINS,
    KIB,
    MIB,
    MSS_BYTES,
    PaperHardware,
    Setup,
    TracedCall,
)
from dfslab.filesystems.pvfs.net_trace import Striping, calls_of, gather, trace_net
from dfslab.nets.build import Net, Place, Put, Take
from dfslab.nets.engine import run
from dfslab.nets.inscription import equal, number
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.component_net import ComponentNet, Configuration

__all__ = [
    "FRAME_OVERHEAD_BYTES",
    "GIB",
    "GRAINS",
    "KIB",
    "MIB",
    "MSS_BYTES",
    "NET",
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
    requested = net.place("requested", pvfs.payload)
    out, arrived = net.place("out", pvfs.payload), net.place("arrived", pvfs.payload)
    pending, acks = net.place("pending", pvfs.waiting), net.place("acks", pvfs.answer)
    prepared_s = k["client_call_s"] + pvfs.block_bytes() / k["memory_rate_bytes_per_s"]
    pvfs.work(
        "issue",
        [Take(pvfs.ready, "c")],
        [
            Put(pending, [c["id"], c["block"] + 1, pvfs.block_bytes()]),
            *(
                Put(requested, [c["id"], number(at), pvfs.share(at), pvfs.share(at)])
                for at in servers
            ),
        ],
        prepared_s,
        guard=c["block"] < k["blocks"],
        delay=prepared_s,
    )
    admit(pvfs, requested, out)
    pvfs.carry("out", out, arrived, by="client", to="server")
    acknowledge(pvfs, pending, acks, pvfs.ready)
    close, synced = net.place("close", pvfs.payload), net.place("synced", pvfs.answer)
    if setup.sync_on_close:
        _closing(pvfs, close, synced)
    else:
        # Data stays in the servers' page caches. The write-back process writes it to disk later.
        net.transition(
            "close_last_answer",
            [Take(pvfs.ready, "c")],
            [Put(pvfs.finished, "c")],
            guard=equal(c["block"], k["blocks"]),
            delay=k["client_call_s"],
        )
    write_server(pvfs, arrived, close, acks, synced)
    return net


def _closing(pvfs: SharedElements, close: Place, synced: Place) -> None:
    """Adds the transitions by which a client closes a file that it has written. On a close, every
    server syncs its part of the file's data."""
    net, k, c = pvfs.net, pvfs.constants, pvfs.caller
    closing = net.place("closing", pvfs.waiting)
    net.transition(
        "close",
        [Take(pvfs.ready, "c")],
        [
            Put(closing, [c["id"], c["block"], k["servers"]]),
            *(
                Put(close, [c["id"], number(at), number(0), number(0)], k["network_latency_s"])
                for at in range(pvfs.setup.servers)
            ),
        ],
        guard=equal(c["block"], k["blocks"]),
        delay=k["client_call_s"],
    )
    acknowledge(pvfs, closing, synced, pvfs.finished, "close_")


def read_net(setup: Setup) -> Net:
    """Returns the net in which clients read their files block by block."""
    pvfs = SharedElements(setup)
    net, k, c = pvfs.net, pvfs.constants, pvfs.caller
    requested = net.place("asked", pvfs.asking)
    back, got = net.place("back", pvfs.payload), net.place("got", pvfs.payload)
    pending = net.place("pending", pvfs.waiting)
    call_s = k["client_call_s"] + k["network_latency_s"]
    ahead = pvfs.way["ahead"]
    pvfs.work(
        "issue",
        [Take(pvfs.ready, "c")],
        [
            Put(pending, [c["id"], c["block"] + 1, pvfs.block_bytes()]),
            *(
                Put(requested, [c["id"], number(at), pvfs.share(at), pvfs.share(at), ahead], call_s)
                for at in range(setup.servers)
            ),
        ],
        k["client_call_s"],
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
    pvfs.carry("back", back, got, by="server", to="client")
    return net


@dataclass(frozen=True)
class SetupResult:
    """The result of simulating one setup.

    The throughput is the bytes of all clients, divided by the seconds until the last client
    finishes. `utilisation` has the utilisation of each station, such as a disk, by the station's
    name. The utilisation is the fraction of time for which the servers of the station were busy.
    """

    setup: Setup
    throughput_bytes_per_s: float
    time_s: float
    firings: int
    operations: int
    utilisation: Mapping[str, float]

    @property
    def rate_per_s(self) -> float:
        """Returns the number of operations of all clients, divided by the seconds until the last
        client finishes."""
        return self.operations / self.time_s


# The name of the operation that lists a directory, and the number of listings per client in a
# simulation. At the start, a client also opens its files. With many listings, this time is
# negligible.
LIST, LISTINGS = "list", 64
# Largest number of servers that is simulated. With more servers, the probability that two clients
# use the same server at the same time would hardly change.
MOST_SERVERS = 64
NETS = {
    "write": (write_net, "close_last_answer"),
    "read": (read_net, "close"),
    "replay": (trace_net, "leave"),
}
# Stations of the net. The key is the place whose tokens are the idle servers of the station, and
# the value is the name of the station.
STATIONS = {
    "manager_idle": "manager.cpu",
    "daemon_idle": "server.daemon",
    "disk_idle": "server.disk",
    "cores_idle": "shared.cpu",
    "out_sender": "client.nic.out",
    "out_receiver": "server.nic.in",
    "back_sender": "server.nic.out",
    "back_receiver": "client.nic.in",
}


def simulate(setup: Setup, seed: int = 0, laws: bool = False) -> SetupResult:
    """Simulates the net of a setup until the last client finishes, and returns the result.

    If `laws` is true, the engine also checks that tokens are conserved, and that Little's law and
    the utilisation law hold at all stations. The result is the same, but the run takes longer.
    Raises InputError if the net stops before all clients have finished.
    """
    build, closing = NETS[setup.operation]
    net = build(setup)
    idle = {one.name: one for one in net.places if one.name in STATIONS}
    (report,) = run(
        net,
        seed=seed,
        laws=laws,
        monitors={
            "ends": CountMonitor(transition=closing),
            **{name: MarkingMonitor(place=name) for name in idle},
        },
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
    busy = {
        STATIONS[name]: 1 - marking.mean / len(idle[name].initial)
        for name, marking in report.markings.items()
        if marking.mean is not None
    }
    count = setup.clients * setup.operations
    return SetupResult(setup, moved / time_s, time_s, report.firings, count, busy)


def placed(setup: Setup, number_of: int) -> Setup | None:
    """Returns `setup` with another random placement of files on servers. Placements are numbered;
    number 0 is the placement of `setup`. Returns None if the setup has no placement with the number
    `number_of`.

    A setup has several placements only if the placement can affect the result. This needs three
    conditions:
    - files start at random servers (`start_seed` is not 0)
    - a block is stored on only some of the servers
    - there are several clients.

    A trace has only placement 0.
    """
    matters = setup.block_size < setup.servers * setup.stripe_size and setup.clients > 1
    if number_of and (setup.calls or not (setup.start_seed and matters)):
        return None
    return replace(setup, start_seed=setup.start_seed + number_of)


def grains(setup: Setup) -> Mapping[str, SetupResult]:
    """Simulates the setup at every level of network detail: "packet", "chunk" and "flow". Returns
    the results by the name of the level."""
    return {grain: simulate(replace(setup, grain=grain)) for grain in GRAINS}


def setup_of(situation: Configuration, grain: str = GRAINS[0]) -> Setup:
    """Returns the net's setup for a configuration, at the level `grain` of network detail.

    Each client accesses one file sequentially, executes its calls of a trace, or lists a directory.
    Adapters, disks and memory sizes are those of the deployment. Processor times and memory rates
    are those of Nguyen & Apon 2012. A disk's latency includes seek and rotation. Every file starts
    at a random server. All clients on one node share the node's network adapter, and so do all
    servers on one node.

    Raises InputError for a workload that the net does not model.
    """
    scenario = situation.scenario
    values = {**situation.environment, **situation.symbols}
    deployment, clients = scenario.deployment, scenario.workload.clients
    stripe = int(values["stripe_size"])
    # `missed` is the fraction of the read data that is not in the caches. `missed` can differ
    # between the phases of a workload.
    missed = 1.0 if scenario.workload.cache == "direct" else float(values["cold"])
    width = int(values["stripe_count"])
    servers = max(width, min(deployment.instances("server"), MOST_SERVERS))
    common = Setup(
        clients=clients,
        servers=servers,
        stripe_size=stripe,
        block_size=stripe,
        grain=grain,
        cached=missed < 1,
        missed=missed,
        hardware=_hardware(scenario, values),
        sync_on_close=bool(values["sync_on_close"] or values["fsync"]),
        flow_buffer=int(values["flow_buffer"]),
        stripe_count=width,
        start_seed=scenario.run.seed + 1,
        client_nodes=sum(group.count for group in deployment.groups_of("client")),
        server_nodes=sum(group.count for group in deployment.groups_of("server")),
        shared_cores=deployment.shared_cores,
    )
    if situation.trace is not None:
        trace = situation.trace
        sync = bool(values["sync_on_close"])
        striping = Striping(servers, stripe, width, common.start_seed, sync)
        calls = calls_of(trace.done, striping, missed, trace.due_of_done())
        return replace(common, operation="replay", calls=calls)
    known = [name for name in situation.mix if name in ("read", "write", LIST)]
    if len(situation.mix) != 1 or not known:
        allowed = "the net of PVFS knows whole files, read or written, and traces"
        raise InputError("workload.name", scenario.workload.name, allowed)
    (operation,) = known
    if operation == LIST:
        return _listing(common)
    if values["scattered"] and not (missed == 0 and operation == "read"):
        allowed = "the net of PVFS accesses files in order; a trace may have random requests"
        raise InputError("workload.name", scenario.workload.name, allowed)
    return replace(
        common,
        operation=operation,
        file_size=int(values["file_size"]),
        block_size=int(values["transfer_size"]),
    )


def _listing(setup: Setup) -> Setup:
    """Returns a setup in which every client lists a directory LISTINGS times. The listings are
    simulated as calls of a trace, which only the metadata manager answers."""
    calls = [TracedCall(client, "name") for client in range(setup.clients)] * LISTINGS
    return replace(setup, operation="replay", calls=tuple(calls), operations=LISTINGS)


def _hardware(scenario: Scenario, values: Mapping[str, float]) -> PaperHardware:
    """Returns the machines of Nguyen & Apon 2012, but with the adapters, disks and memory of the
    deployment."""
    (io,), (client,) = (scenario.deployment.groups_of(role)[:1] for role in ("server", "client"))
    return PaperHardware(
        network_rate_bytes_per_s=client.adapter.bandwidth,
        server_network_rate_bytes_per_s=io.adapter.bandwidth,
        network_latency_s=scenario.deployment.network.latency,
        memory_bytes=int(io.memory),
        disk_seek_s=io.disk.latency,
        disk_rotation_s=0.0,
        disk_channels=io.disk.count,
        disk_read_rate_bytes_per_s=io.disk.read_rate,
        disk_write_rate_bytes_per_s=io.disk.write_rate,
        dequeue_s=values["dequeue_cost"],
    )


def notes_of(situation: Configuration) -> list[str]:
    """Returns a note for the user if more servers are deployed than one file is striped over.
    Otherwise the list is empty."""
    count = int(situation.environment["stripe_count"])
    deployed = situation.scenario.deployment.instances("server")
    if deployed <= count:
        return []
    return [
        f"a file is striped over {count} of {deployed} servers: more servers make one file no "
        f"faster; file_system.stripe_count = {deployed} would use them all"
    ]


NET = ComponentNet(
    grains=GRAINS, setup_of=setup_of, placed=placed, simulate=simulate, notes_of=notes_of
)
