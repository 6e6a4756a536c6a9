"""The components of the PVFS Petri net: network adapters, disks, clients and shared cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property

from dfslab.filesystems.pvfs.net_setup import (
    CREATE_REQUESTS,
    FLOW_BYTES,
    FRAME_OVERHEAD_BYTES,
    MSS_BYTES,
    PRIME,
    Setup,
)
from dfslab.nets.build import Net, Place, Put, Take
from dfslab.nets.inscription import Inscription, equal, number, unequal
from dfslab.spec.steps.expression import Condition, Expr, Min, ceiling, condition, select


class SharedElements:
    """The elements that the net of reads and the net of writes share: token types (colours),
    constants, stations and the network."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.net = net = Net(f"pvfs-{setup.operation}")
        self.one = net.colour("one", id=int)
        self.answer = net.colour("answer", id=int, amount=int)
        self.client = net.colour("client", id=int, block=int)
        self.payload = net.colour("payload", client=int, server=int, bytes=int, total=int)
        self.packet = net.colour("packet", client=int, server=int, bytes=int, total=int, last=bool)
        self.adapter = net.colour("adapter", id=int, client=int, server=int, total=int, loaded=bool)
        self.waiting = net.colour("waiting", id=int, block=int, want=int)
        self.disk_kind = net.enum("disk_kind", "fetch", "clean", "swap", "seek")
        self.way = net.enum("way", "ahead", "hit", "jump")
        self.asking = net.colour(
            "asking", client=int, server=int, bytes=int, total=int, way=self.way
        )
        self.request = net.colour("request", server=int, client=int, bytes=int, kind=self.disk_kind)
        self.disk = net.colour("disk", server=int, last=int)
        self.caller = self.client.token("c")
        hardware, memory = setup.hardware, setup.hardware.memory_bytes
        values: dict[str, float] = {
            **asdict(hardware),
            "servers": setup.servers,
            "file_size": setup.file_size,
            "block_size": setup.block_size,
            "stripe_size": setup.stripe_size,
            "unit_bytes": setup.unit_bytes,
            "mss_bytes": MSS_BYTES,
            "overhead_bytes": FRAME_OVERHEAD_BYTES,
            "width": setup.width,
            "flow_buffer": setup.flow_buffer,
            "blocks": -(-setup.file_size // setup.block_size),
            "memory_for_data_bytes": int(memory * 0.9),
            "dirty_background_bytes": int(memory * hardware.dirty_background_ratio),
            "dirty_limit_bytes": int(memory * hardware.dirty_limit_ratio),
        }
        self.constants = {name: net.constant(name, value) for name, value in values.items()}
        self.ready = net.place("ready", self.client)
        self.finished = net.place("finished", self.client)
        self._open()

    def stations(self, name: str, count: int) -> Place:
        """Adds a place with `count` idle stations, such as one for each client, server or core.
        Returns the place."""
        return self.net.place(name, self.one, list(range(count)))

    @cached_property
    def daemons(self) -> Place:
        """Returns the place of the servers' idle I/O daemons. Each daemon handles one read or write
        request at a time."""
        return self.stations("daemon_idle", self.setup.servers)

    @cached_property
    def cores(self) -> Place:
        """Returns the place of the idle cores that all nodes share."""
        return self.stations("cores_idle", self.setup.shared_cores)

    def work(
        self,
        name: str,
        takes: Sequence[Take],
        puts: Sequence[Put],
        busy_s: Inscription,
        guard: Condition | None = None,
        delay: Inscription | None = None,
    ) -> None:
        """Adds a transition.

        If nodes share cores, the transition also occupies one core. The core is occupied for
        `delay` or, if `delay` is None, for `busy_s` seconds. All other tokens that the transition
        puts are delayed by `delay`. Without shared cores, `busy_s` is not used.
        """
        if self.setup.shared_cores:
            takes = [*takes, Take(self.cores, "core")]
            puts = [*puts, Put(self.cores, "core", busy_s if delay is None else None)]
        self.net.transition(name, takes, puts, guard=guard, delay=delay)

    def _open(self) -> None:
        """Adds the requests to the metadata manager by which every client opens its file. There is
        a single manager. A new file takes three requests: look up the directory, create the file,
        enter its name."""
        net, clients, k = self.net, self.setup.clients, self.constants
        self.start = net.place("start", self.client, [(at, 0) for at in range(clients)])
        manager = net.place("manager_idle", self.one, [0])
        requests = CREATE_REQUESTS if self.setup.operation == "write" else 1
        source = self.start
        for number_of in range(1, requests + 1):
            last = number_of == requests
            target = self.ready if last else net.place(f"opening_{number_of}", self.client)
            net.transition(
                "open" if last else f"open_{number_of}",
                [Take(source, "c"), Take(manager, "m")],
                [
                    Put(manager, "m", k["manager_call_s"]),
                    Put(target, "c", k["manager_call_s"] + 2 * k["network_latency_s"]),
                ],
            )
            source = target

    def block_bytes(self) -> Expr:
        """Returns the bytes of a client's next block. The last block of a file may be shorter."""
        block, file = self.constants["block_size"], self.constants["file_size"]
        return Min(block, file - self.caller["block"] * block)

    def share(self, server: int) -> Expr:
        """Returns the bytes of a client's next block that are stored on the server `server`.
        Stripes are assigned round robin to the servers of the file.

        If the setup has a `start_seed`, every file starts at a random server. Otherwise, the file
        of client c starts at server c.
        """
        c, k = self.caller, self.constants
        block, stripe, width = k["block_size"], k["stripe_size"], k["width"]
        a, b = self.setup.start_factors
        first = (c["id"] * a + b) % PRIME if self.setup.start_seed else c["id"]
        # The position of the server, counted from the file's first server in the ring of all
        # servers. The first server has the position 0. Only servers at the positions 0 to width - 1
        # store stripes of the file.
        place = (server - first) % k["servers"]
        if self.setup.block_size < self.setup.stripe_size:
            here = equal(c["block"] * block // stripe % width, place)
            return select(here, self.block_bytes(), 0)
        first_stripe = c["block"] * (block // stripe)
        stripes = self.stripes()
        whole = (stripes + width - 1 - (place - first_stripe) % width) // width
        # `excess` is the number of bytes by which the last stripe of the block is shorter than a
        # whole stripe.
        excess = stripes * stripe - self.block_bytes()
        last = equal((first_stripe + stripes - 1) % width, place)
        size = whole * stripe - select(last, excess, 0)
        return size if self.setup.width == self.setup.servers else select(place < width, size, 0)

    def stripes(self) -> Expr:
        """Returns the number of stripes of a block."""
        stripe = self.constants["stripe_size"]
        return (self.block_bytes() + stripe - 1) // stripe

    def touched(self) -> Expr:
        """Returns the number of servers that store a part of a block."""
        return Min(self.constants["width"], self.stripes())

    def frame_s(self, size: Expr, owner: str) -> Expr:
        """Returns the seconds that `size` bytes take through an adapter. The time includes the
        overhead of every packet. `owner` is the adapter's owner, "client" or "server"."""
        k = self.constants
        overhead = ceiling(size / k["mss_bytes"]) * k["overhead_bytes"]
        kind = "server_network_rate" if owner == "server" else "network_rate"
        return (size + overhead) / k[f"{kind}_bytes_per_s"]

    def adapters(self, owner: str) -> int:
        """Returns the number of network adapters of the clients or the servers. Each of their nodes
        has one adapter."""
        setup = self.setup
        if owner == "server":
            return min(setup.servers, setup.server_nodes or setup.servers)
        return min(setup.clients, setup.client_nodes or setup.clients)

    def _adapter_of(self, number_of: Expr, owner: str) -> Expr:
        """Returns the number of the adapter that a client or server uses. `owner` is "client" or
        "server", and `number_of` is the number of this client or server."""
        whole = self.setup.servers if owner == "server" else self.setup.clients
        count = self.adapters(owner)
        # If each client or server has a separate adapter, its number is returned as it is, not as a
        # formula. Guards compare this number with fields of tokens. The simulation finds matching
        # tokens quickly if a guard compares fields of two tokens. If the guard contains a formula,
        # the simulation tests all tokens.
        return number_of if count == whole else number_of % count

    def carry(self, name: str, source: Place, target: Place, by: str, to: str) -> None:
        """Moves payloads, unit by unit, through the adapter of a sender and the adapter of a
        receiver.

        `by` is the kind of the sender and `to` the kind of the receiver; both are "client" or
        "server". A payload is delivered in pieces. A piece ends with the unit that fills a flow
        buffer, or with the last unit of the payload. Units of one payload stay in order, so a piece
        has arrived when its last unit has arrived. After each unit, a payload with remaining units
        is queued behind the other payloads. An adapter therefore serves its payloads round robin.

        One transition sends all units of a payload, including the last one. With a separate
        transition for last units, these would wait until no other unit was left. All payloads would
        then end simultaneously, and clients would move from server to server as one convoy.
        """
        net = self.net
        sender = self.stations(f"{name}_sender", self.adapters(by))
        receiver = net.place(
            f"{name}_receiver",
            self.adapter,
            [(at, 0, 0, 0, False) for at in range(self.adapters(to))],
        )
        wire = net.place(f"{name}_wire", self.packet)
        k = self.constants
        p, q = self.payload.token("p"), self.packet.token("p")
        s, r = self.one.token("s"), self.adapter.token("r")
        unit = Min(p["bytes"], k["unit_bytes"])
        busy = self.frame_s(unit, by)
        piece, ends = self._piece(p["total"] - p["bytes"], unit, p["bytes"] <= k["unit_bytes"])
        net.transition(
            f"{name}_send",
            [Take(source, "p"), Take(sender, "s")],
            [
                Put(sender, "s", busy),
                Put(
                    wire,
                    [p["client"], p["server"], unit, piece, ends],
                    busy + k["network_latency_s"],
                ),
                Put(source, [p["client"], p["server"], p["bytes"] - unit, p["total"]]),
            ],
            guard=equal(self._adapter_of(p[by], by), s["id"]) & (p["bytes"] > 0),
        )
        net.transition(f"{name}_sent", [Take(source, "p")], guard=equal(p["bytes"], 0))
        # A receiver is `loaded` if it has the last unit of a piece. As soon as the receiver is
        # idle, it delivers the piece. Only then can the receiver take another unit.
        net.transition(
            f"{name}_receive",
            [Take(wire, "p"), Take(receiver, "r")],
            [
                Put(
                    receiver,
                    [r["id"], q["client"], q["server"], q["total"], q["last"]],
                    self.frame_s(q["bytes"], to),
                )
            ],
            guard=equal(self._adapter_of(q[to], to), r["id"]) & ~r["loaded"],
        )
        net.transition(
            f"{name}_deliver",
            [Take(receiver, "r")],
            [
                Put(receiver, [r["id"], number(0), number(0), number(0), False]),
                Put(target, [r["client"], r["server"], r["total"], r["total"]]),
            ],
            guard=condition(r["loaded"]),
        )

    def _piece(self, before: Expr, unit: Expr, is_last: Condition) -> tuple[Expr, Condition]:
        """Returns the number of bytes of the piece that ends with a unit, and the condition that a
        piece ends with this unit.

        `unit` is the number of bytes of the unit. `before` is the number of bytes of the payload
        that were sent before it. A piece ends with the unit that fills a flow buffer, or with the
        last unit. If the network moves a whole payload as one unit, the payload is one piece.
        """
        setup = self.setup
        after = before + unit
        if setup.unit_bytes >= FLOW_BYTES:
            return after, is_last
        k = self.constants
        full = before // k["flow_buffer"]
        start = ceiling(full * k["flow_buffer"] / k["unit_bytes"]) * k["unit_bytes"]
        ends = is_last | (after // k["flow_buffer"] > full)
        return after - start, ends

    @cached_property
    def disks(self) -> tuple[Place, Place]:
        """Adds a disk for every server. Returns two places: the queue of disk requests, and the
        place for finished requests.

        A disk does not seek before a request if its previous request was a sequential request of
        the same client. The disk seeks before all other requests, and always before a request of
        the kind "swap" or "seek".
        """
        net, setup = self.net, self.setup
        queue, done = net.place("disk_queue", self.request), net.place("disk_done", self.request)
        heads = [(at, -1) for at in range(setup.servers)] * setup.hardware.disk_channels
        idle = net.place("disk_idle", self.disk, heads)
        k, kind = self.constants, self.disk_kind
        q, d = self.request.token("q"), self.disk.token("d")
        seeks = equal(q["kind"], kind["seek"])
        reads = equal(q["kind"], kind["fetch"]) | seeks
        rate = select(reads, k["disk_read_rate_bytes_per_s"], k["disk_write_rate_bytes_per_s"])
        stays = equal(q["client"], d["last"]) & unequal(q["kind"], kind["swap"])
        stays &= unequal(q["kind"], kind["seek"])
        move = select(stays, 0.0, k["disk_seek_s"] + k["disk_rotation_s"])
        net.transition(
            "disk",
            [Take(queue, "q"), Take(idle, "d")],
            [Put(idle, [d["server"], select(seeks, -1, q["client"])]), Put(done, "q")],
            guard=equal(q["server"], d["server"]),
            delay=move + q["bytes"] / rate,
        )
        # When memory is full, the kernel's reclaim swaps single pages at scattered positions of the
        # disk.
        net.transition("swapped", [Take(done, "q")], guard=equal(q["kind"], kind["swap"]))
        return queue, done


def acknowledge(
    pvfs: SharedElements, pending: Place, acks: Place, after: Place, prefix: str = ""
) -> None:
    """Adds the transitions by which a client counts the acknowledgements of servers.

    An acknowledgement has an amount: the number of bytes for a write, and 1 for a sync. The amounts
    are summed. When the sum reaches the number for which the client's call waits, the client
    continues at the place `after`.
    """
    takes = [Take(acks, "a"), Take(pending, "w")]
    a, w = pvfs.answer.token("a"), pvfs.waiting.token("w")
    mine = equal(a["id"], w["id"])
    pvfs.net.transition(
        f"{prefix}answer",
        takes,
        [Put(pending, [w["id"], w["block"], w["want"] - a["amount"]])],
        guard=mine & (w["want"] > a["amount"]),
    )
    pvfs.net.transition(
        f"{prefix}last_answer",
        takes,
        [Put(after, [w["id"], w["block"]])],
        guard=mine & (w["want"] <= a["amount"]),
    )
