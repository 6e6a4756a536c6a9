"""Builds the PVFS net of a trace of mixed random and sequential requests. This is the hybrid
workload of Nguyen & Apon 2012.

Every client executes its calls one after the other. If the trace has times, a call starts no
earlier than its time. Where each read finds its data is determined when the net is built, in the
order of the trace:
- in memory, if the trace has read or written the data before. With warm caches, a share of the
  other reads also finds its data in memory.
- on disk through the read-ahead window, if the read is sequential
- on disk after a seek, in all other cases.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dfslab.documents.net_definition import Cell
from dfslab.filesystems.pvfs.net_parts import SharedElements, acknowledge
from dfslab.filesystems.pvfs.net_servers import admit, read_server, write_server
from dfslab.filesystems.pvfs.net_setup import CREATE_REQUESTS, Setup, TracedCall
from dfslab.nets.build import Net, Place, Put, Take
from dfslab.nets.colour import Token
from dfslab.nets.inscription import call as called
from dfslab.nets.inscription import equal, number
from dfslab.spec.steps.calls import TRANSFERS, ClassifiedCall, ExecutedOperation, followed, single
from dfslab.spec.steps.expression import Condition

PAGE_BYTES = 4096


def shares_of(
    offset: int, size: int, servers: int, stripe: int, first: int, width: int = 0
) -> tuple[int, ...]:
    """Returns for each server how many bytes of a range of a file the server stores. The range has
    `size` bytes from `offset` on. Stripes of `stripe` bytes are assigned round robin to `width`
    servers, from server `first` on. If `width` is 0, they are assigned to all `servers`."""
    found = [0] * servers
    end = offset + size
    while offset < end:
        cut = min(end, (offset // stripe + 1) * stripe)
        found[(first + offset // stripe % (width or servers)) % servers] += cut - offset
        offset = cut
    return tuple(found)


class _Memory:
    """The pages of files that are in memory. These are all pages that the trace has accessed so
    far, and a part of the other pages. When the trace reads bytes for the first time, the fraction
    `missed` of them is not in memory. The reads that miss are spread evenly over the trace."""

    def __init__(self, missed: float) -> None:
        self.pages: dict[tuple[int, int], set[int]] = {}
        self._missed = missed
        # A difference of two numbers of bytes: the bytes that should have been read from disks so
        # far according to `missed`, minus the bytes that were read from disks.
        self._owed_bytes = 0.0

    def finds(self, one: ExecutedOperation) -> bool:
        """Returns whether a read finds its bytes in memory, and marks its pages as accessed."""
        if self.accessed(one):
            return True
        self._owed_bytes += self._missed * one.size_bytes
        if self._owed_bytes <= one.size_bytes / 2:
            return True
        self._owed_bytes -= one.size_bytes
        return False

    def accessed(self, one: ExecutedOperation) -> bool:
        """Returns whether all pages of a transfer were accessed before, and marks them as
        accessed."""
        pages = range(
            one.offset_bytes // PAGE_BYTES, -(-(one.offset_bytes + one.size_bytes) // PAGE_BYTES)
        )
        known = self.pages.setdefault((one.owner, one.file), set())
        held = known.issuperset(pages)
        known.update(pages)
        return held


@dataclass(frozen=True)
class Striping:
    """How the files of a trace are striped and closed.

    `stripe_count`: number of servers of a file; 0: all. `start_seed`: seed for the random first
    server of each file; 0: the first file of the trace starts at server 0, the second one at server
    1, and so on. `sync_on_close`: whether closing a file forces its data to the disks.
    """

    servers: int
    stripe_bytes: int
    stripe_count: int = 0
    start_seed: int = 0
    sync_on_close: bool = True


def calls_of(
    trace: Sequence[ExecutedOperation],
    striping: Striping,
    missed: float,
    due_s: Sequence[float] = (),
) -> tuple[TracedCall, ...]:
    """Converts a trace's operations to calls of the net. An operation on a whole file becomes three
    calls: open, transfer and close.

    `due_s` is the scheduled start of each operation in seconds. Without it, each operation follows
    the previous one. `missed` is the fraction of the data that is not in the caches at the start.
    """
    given = [call for one in trace for call in single(one)]
    times = due_s or [0.0] * len(trace)
    # The first call of an operation on a whole file has the operation's scheduled start; the other
    # two follow it.
    due = [
        at
        for one, time_s in zip(trace, times, strict=True)
        for at, _ in zip((time_s, 0.0, 0.0), single(one), strict=False)
    ]
    memory, layout = _Memory(missed), _Layout(striping)
    found: list[TracedCall] = []
    for one, classified, at in zip(given, followed(given), due, strict=True):
        call = replace(_call(one, classified, memory, layout), due_s=at)
        # Creating a file takes several requests to the manager, one after another.
        repeated = CREATE_REQUESTS - 1 if one.kind == "create" else 0
        found += [call, *[replace(call, due_s=0.0)] * repeated]
    return tuple(found)


class _Layout:
    """The first server of every file of a trace."""

    def __init__(self, striping: Striping) -> None:
        self.striping = striping
        self._firsts: dict[tuple[int, int], int] = {}
        self._chance = random.Random(striping.start_seed)

    def first(self, one: ExecutedOperation) -> int:
        """Returns the first server of the file that an operation uses. If `start_seed` is not 0,
        the result is a random server. Otherwise, each new file starts at the server after the first
        server of the previous new file."""
        key = (one.owner, one.file)
        if key not in self._firsts:
            known, servers = len(self._firsts), self.striping.servers
            is_random = self.striping.start_seed != 0
            self._firsts[key] = self._chance.randrange(servers) if is_random else known
        return self._firsts[key]


def _call(
    one: ExecutedOperation, classified: ClassifiedCall, memory: _Memory, layout: _Layout
) -> TracedCall:
    how = layout.striping
    if one.kind in TRANSFERS:
        place = (how.servers, how.stripe_bytes, layout.first(one), how.stripe_count)
        shares = shares_of(one.offset_bytes, one.size_bytes, *place)
        if one.kind == "pwrite":
            memory.accessed(one)
            return TracedCall(one.client, "write", shares)
        held = memory.finds(one)
        return TracedCall(
            one.client,
            "read",
            shares,
            "hit" if held else "jump" if classified.scattered else "ahead",
        )
    unsynced = one.kind == "close" and classified.unforced and how.sync_on_close
    if one.kind == "fsync" or unsynced:
        return TracedCall(one.client, "force")
    # A close without data to sync involves only the client. All other calls involve the manager.
    return TracedCall(one.client, "pass" if one.kind == "close" else "name")


def trace_net(setup: Setup) -> Net:
    """Returns the net of a trace's calls. Servers, disks and adapters are modelled as in the nets
    that read or write whole files (`net.py`).
    """
    pvfs = SharedElements(setup)
    net = pvfs.net
    does = net.enum("does", "read", "write", "force", "pass", "name", "leave")
    call = net.colour(
        "call",
        client=int,
        index=int,
        does=does,
        total=int,
        touched=int,
        way=pvfs.way,
        shares=[int],
        due=float,
    )
    o, c, call_s = call.token("o"), pvfs.caller, pvfs.constants["client_call_s"]
    timed = any(one.due_s for one in setup.calls)
    todo = net.place("todo", call, [] if timed else list(_rows(setup)))
    if timed:
        trace = net.place("trace", call, list(_rows(setup)))
        net.transition("is due", [Take(trace, "o")], [Put(todo, "o", o["due"])])
    mine = equal(c["id"], o["client"]) & equal(c["block"], o["index"])
    takes = [Take(pvfs.ready, "c"), Take(todo, "o")]
    step = [c["id"], c["block"] + 1]
    net.transition(
        "name",
        takes,
        [Put(pvfs.start, step)],
        guard=mine & equal(o["does"], does["name"]),
        delay=call_s,
    )
    net.transition(
        "pass",
        takes,
        [Put(pvfs.ready, step)],
        guard=mine & equal(o["does"], does["pass"]),
        delay=call_s,
    )
    leaves = mine & equal(o["does"], does["leave"])
    net.transition("leave", takes, [Put(pvfs.finished, step)], guard=leaves)
    _reads(pvfs, takes, o, mine & equal(o["does"], does["read"]))
    arrived, acks = _writes(pvfs, takes, o, mine & equal(o["does"], does["write"]))
    force, forced = _forces(pvfs, takes, mine & equal(o["does"], does["force"]))
    write_server(pvfs, arrived, force, acks, forced)
    return net


def _rows(setup: Setup) -> Iterator[Sequence[Cell]]:
    """Yields a row for each call: client, number of the call among the client's calls, kind, total
    bytes, number of servers with a part of the bytes, way (`TracedCall.way`), bytes on each server,
    and scheduled start in seconds. At the end, yields a row of kind "leave" for each client."""
    counts = [0] * setup.clients
    for one in setup.calls:
        at, touched = counts[one.client], sum(size > 0 for size in one.shares)
        # A transfer of zero bytes involves no server.
        does = "pass" if one.does in ("read", "write") and not touched else one.does
        yield (one.client, at, does, one.total_bytes, touched, one.way, list(one.shares), one.due_s)
        counts[one.client] += 1
    for client, count in enumerate(counts):
        yield client, count, "leave", 0, 0, "hit", [], 0.0


def _reads(pvfs: SharedElements, takes: Sequence[Take], o: Token, guard: Condition) -> None:
    net, k, c = pvfs.net, pvfs.constants, pvfs.caller
    requested = net.place("asked", pvfs.asking)
    back, got = net.place("back", pvfs.payload), net.place("got", pvfs.payload)
    pending = net.place("read_pending", pvfs.waiting)
    call_s = k["client_call_s"] + k["network_latency_s"]
    shares = [called("at", o["shares"], at) for at in range(pvfs.setup.servers)]
    pvfs.work(
        "issue_read",
        takes,
        [
            Put(pending, [c["id"], c["block"] + 1, o["total"]]),
            *(
                Put(requested, [c["id"], number(at), share, share, o["way"]], call_s)
                for at, share in enumerate(shares)
            ),
        ],
        k["client_call_s"],
        guard=guard,
    )
    gather(pvfs, requested, got, pending)
    read_server(pvfs, requested, back)
    pvfs.carry("back", back, got, by="server", to="client")


def _writes(
    pvfs: SharedElements, takes: Sequence[Take], o: Token, guard: Condition
) -> tuple[Place, Place]:
    """Adds the clients' part of writes. Returns the place where data arrives at the servers, and
    the place for the servers' answers."""
    net, k, c = pvfs.net, pvfs.constants, pvfs.caller
    shares = [called("at", o["shares"], at) for at in range(pvfs.setup.servers)]
    requested = net.place("requested", pvfs.payload)
    out, arrived = net.place("out", pvfs.payload), net.place("arrived", pvfs.payload)
    pending, acks = net.place("pending", pvfs.waiting), net.place("acks", pvfs.answer)
    prepared_s = k["client_call_s"] + o["total"] / k["memory_rate_bytes_per_s"]
    pvfs.work(
        "issue_write",
        takes,
        [
            Put(pending, [c["id"], c["block"] + 1, o["total"]]),
            *(
                Put(requested, [c["id"], number(at), share, share])
                for at, share in enumerate(shares)
            ),
        ],
        prepared_s,
        guard=guard,
        delay=prepared_s,
    )
    admit(pvfs, requested, out)
    pvfs.carry("out", out, arrived, by="client", to="server")
    acknowledge(pvfs, pending, acks, pvfs.ready)
    return arrived, acks


def _forces(pvfs: SharedElements, takes: Sequence[Take], guard: Condition) -> tuple[Place, Place]:
    """Adds the clients' part of syncs. Returns the place where requests arrive at the servers, and
    the place for the servers' answers."""
    net, k, c = pvfs.net, pvfs.constants, pvfs.caller
    force = net.place("force", pvfs.payload)
    forcing, forced = net.place("forcing", pvfs.waiting), net.place("forced", pvfs.answer)
    net.transition(
        "force",
        takes,
        [
            Put(forcing, [c["id"], c["block"] + 1, k["servers"]]),
            *(
                Put(force, [c["id"], number(at), number(0), number(0)], k["network_latency_s"])
                for at in range(pvfs.setup.servers)
            ),
        ],
        guard=guard,
        delay=k["client_call_s"],
    )
    acknowledge(pvfs, forcing, forced, pvfs.ready, "force_")
    return force, forced


def gather(pvfs: SharedElements, requested: Place, got: Place, pending: Place) -> None:
    """Adds the transitions that collect the parts of a read from all servers at the client. After
    the last part, the client continues."""
    empty = equal(requested.colour.token("p")["bytes"], 0)
    pvfs.net.transition("nothing", [Take(requested, "p")], guard=empty)
    p, w = pvfs.payload.token("p"), pvfs.waiting.token("w")
    mine = equal(p["client"], w["id"])
    takes = [Take(got, "p"), Take(pending, "w")]
    copy_s = p["total"] / pvfs.constants["memory_rate_bytes_per_s"]
    pvfs.work(
        "gather",
        takes,
        [Put(pending, [w["id"], w["block"], w["want"] - p["total"]])],
        copy_s,
        guard=mine & (w["want"] > p["total"]),
    )
    pvfs.work(
        "gather_last",
        takes,
        [Put(pvfs.ready, [w["id"], w["block"]], copy_s)],
        copy_s,
        guard=mine & (w["want"] <= p["total"]),
    )
