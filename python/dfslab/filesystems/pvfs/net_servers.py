"""Models the servers' local file systems as parts of a Petri net: page cache, write-back and
read-ahead.
"""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.filesystems.pvfs.net_parts import SharedElements
from dfslab.filesystems.pvfs.net_setup import Setup
from dfslab.nets.build import Place, Put, Take
from dfslab.nets.colour import Colour
from dfslab.nets.inscription import equal, number
from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, select


def admit(pvfs: SharedElements, requested: Place, out: Place) -> None:
    """Adds the first round trip of a write. In it, the client sends a request to each server that
    gets data, and the servers admit it. The client then sends the data from the place `out`."""
    net, k = pvfs.net, pvfs.constants
    at_server = net.place("at_server", pvfs.payload)
    p, d = pvfs.payload.token("p"), pvfs.one.token("d")
    net.transition(
        "request",
        [Take(requested, "p")],
        [Put(at_server, "p", k["network_latency_s"])],
        guard=p["bytes"] > 0,
    )
    net.transition("no_part", [Take(requested, "p")], guard=equal(p["bytes"], 0))
    takes, puts = [Take(pvfs.daemons, "d")], list[Put]()
    handled_s: Expr = k["server_request_s"]
    mine, waiting = equal(p["server"], d["id"]), at_server
    if pvfs.setup.hardware.dequeue_s:
        # A receive buffer is a linked list (section 6.2.1 of Nguyen & Apon 2012). The time to take
        # out a request therefore grows with the number of requests in the list.
        waiting, count = _buffered(pvfs, at_server)
        b = count.colour.token("b")
        handled_s += k["dequeue_s"] * b["items"]
        takes, puts = [*takes, Take(count, "b")], [Put(count, [b["id"], b["items"] - 1])]
        mine &= equal(p["server"], b["id"])
    admitted = Put(out, "p", handled_s + k["network_latency_s"])
    pvfs.work(
        "admit",
        [Take(waiting, "p"), *takes],
        [Put(pvfs.daemons, "d", handled_s), admitted, *puts],
        handled_s,
        guard=mine,
    )


def _buffered(pvfs: SharedElements, arrived: Place) -> tuple[Place, Place]:
    """Adds the servers' receive buffers. Returns two places: the waiting requests, and the number
    of waiting requests of each server."""
    net = pvfs.net
    counted = net.colour("counted", id=int, items=int)
    count = net.place("buffer_items", counted, [(at, 0) for at in range(pvfs.setup.servers)])
    waiting = net.place("receive_buffer", pvfs.payload)
    p, b = pvfs.payload.token("p"), counted.token("b")
    net.transition(
        "enqueue",
        [Take(arrived, "p"), Take(count, "b")],
        [Put(waiting, "p"), Put(count, [b["id"], b["items"] + 1])],
        guard=equal(p["server"], b["id"]),
    )
    return waiting, count


def write_server(
    pvfs: SharedElements, arrived: Place, close: Place, acks: Place, synced: Place
) -> None:
    """Adds the servers that handle writes. The servers receive flow buffers first come first
    served, and write them to the local file system."""
    net, k = pvfs.net, pvfs.constants
    cache, files = _server_files(pvfs)
    p = pvfs.payload.token("p")
    w, f = pvfs.payload.token("w"), files.colour.token("f")
    daemon = pvfs.daemons
    writing = net.place("writing", pvfs.payload)
    queue, done = pvfs.disks
    d = pvfs.one.token("d")
    pvfs.work(
        "accept_data",
        [Take(arrived, "p"), Take(daemon, "d")],
        [Put(writing, "p", k["server_chunk_s"])],
        k["server_chunk_s"],
        guard=equal(p["server"], d["id"]),
    )
    _absorb(pvfs, writing, cache, files)
    net.transition(
        "written",
        [Take(writing, "w")],
        [Put(daemon, [w["server"]]), Put(acks, [w["client"], w["total"]], k["network_latency_s"])],
        guard=equal(w["bytes"], 0),
    )
    net.transition(
        "sync",
        [Take(close, "p"), Take(files, "f")],
        [Put(files, [f["client"], f["server"], f["dirty"], True])],
        guard=equal(p["client"], f["client"]) & equal(p["server"], f["server"]),
    )
    net.transition(
        "synced",
        [Take(files, "f")],
        [
            Put(files, [f["client"], f["server"], f["dirty"], False]),
            Put(synced, [f["client"], number(1)], k["network_latency_s"]),
        ],
        guard=f["sync"] & equal(f["dirty"], 0),
    )
    _write_back(pvfs, cache, files, queue, done)


def _absorb(pvfs: SharedElements, writing: Place, cache: Place, files: Place) -> None:
    """Adds the transitions that turn written stripes into dirty pages. Pages that do not fit into
    memory are swapped.
    """
    net, k = pvfs.net, pvfs.constants
    w, c, f = pvfs.payload.token("w"), cache.colour.token("c"), files.colour.token("f")
    q = pvfs.request.token("q")
    queue, _ = pvfs.disks
    full = net.place("full", pvfs.request)
    net.transition("has_room", [Take(full, "q")], guard=equal(q["bytes"], 0))
    net.transition("reclaim", [Take(full, "q")], [Put(queue, "q")], guard=q["bytes"] > 0)
    size = Min(w["bytes"], k["stripe_size"])
    held = c["dirty"] + c["inactive"] + c["active"]
    over = Max(0, held + size - k["memory_for_data_bytes"])
    same = equal(w["server"], c["server"]) & equal(c["server"], f["server"])
    same &= equal(w["client"], f["client"])
    copied_s = size / k["memory_rate_bytes_per_s"]
    pvfs.work(
        "absorb",
        [Take(writing, "w"), Take(cache, "c"), Take(files, "f")],
        [
            Put(writing, [w["client"], w["server"], w["bytes"] - size, w["total"]], copied_s),
            Put(
                cache,
                [
                    c["server"],
                    c["dirty"] + size,
                    Max(0, c["inactive"] - over),
                    Max(0, c["active"] - Max(0, over - c["inactive"])),
                    c["wake"],
                ],
            ),
            Put(files, [f["client"], f["server"], f["dirty"] + size, f["sync"]]),
            Put(
                full,
                [c["server"], number(-2), ceiling(k["swap_share"] * over), pvfs.disk_kind["swap"]],
            ),
        ],
        copied_s,
        guard=same & (w["bytes"] > 0) & (c["dirty"] + size <= k["dirty_limit_bytes"]),
    )


def _server_files(pvfs: SharedElements) -> tuple[Place, Place]:
    """Returns two new places. The tokens of the first are the page caches of the servers, which
    count bytes by their state. The tokens of the second are the parts of clients' files on servers,
    one for each pair of client and server."""
    net, setup = pvfs.net, pvfs.setup
    cache_colour = net.colour("cache", server=int, dirty=int, inactive=int, active=int, wake=bool)
    file_colour = net.colour("file", client=int, server=int, dirty=int, sync=bool)
    cache = net.place("cache", cache_colour, [(at, 0, 0, 0, False) for at in range(setup.servers)])
    parts = [
        (client, server, 0, False)
        for client in range(setup.clients)
        for server in range(setup.servers)
    ]
    return cache, net.place("files", file_colour, parts)


def _write_back(
    pvfs: SharedElements, cache: Place, files: Place, queue: Place, done: Place
) -> None:
    """Adds the write-back process. This process writes dirty pages to disk if they exceed the
    background limit, if a sync waits for them, or if they are older than `dirty_expire_s`."""
    net, k, kind = pvfs.net, pvfs.constants, pvfs.disk_kind
    t, daemon, q = pvfs.one.token("t"), pvfs.one.token("k"), pvfs.request.token("q")
    c, f = cache.colour.token("c"), files.colour.token("f")
    idle = pvfs.stations("write_back_idle", pvfs.setup.servers)
    timer = pvfs.stations("timer", pvfs.setup.servers)
    net.transition(
        "expire",
        [Take(timer, "t"), Take(cache, "c")],
        [
            Put(timer, "t", k["dirty_expire_s"]),
            Put(cache, [c["server"], c["dirty"], c["inactive"], c["active"], c["dirty"] > 0]),
        ],
        guard=equal(t["id"], c["server"]),
    )
    net.transition(
        "clean",
        [Take(idle, "k"), Take(cache, "c"), Take(files, "f")],
        [
            Put(
                queue,
                [daemon["id"], f["client"], Min(f["dirty"], k["write_back_bytes"]), kind["clean"]],
            ),
            Put(cache, "c"),
            Put(files, "f"),
        ],
        guard=equal(daemon["id"], c["server"])
        & equal(c["server"], f["server"])
        & (f["dirty"] > 0)
        & (f["sync"] | c["wake"] | (c["dirty"] > k["dirty_background_bytes"])),
    )
    net.transition(
        "cleaned",
        [Take(done, "q"), Take(cache, "c"), Take(files, "f")],
        [
            Put(idle, [q["server"]]),
            Put(
                cache,
                [
                    c["server"],
                    c["dirty"] - q["bytes"],
                    c["inactive"] + q["bytes"],
                    c["active"],
                    c["wake"] & (c["dirty"] > q["bytes"]),
                ],
            ),
            Put(files, [f["client"], f["server"], f["dirty"] - q["bytes"], f["sync"]]),
        ],
        guard=equal(q["kind"], kind["clean"])
        & equal(q["server"], c["server"])
        & equal(c["server"], f["server"])
        & equal(q["client"], f["client"]),
    )


def read_server(pvfs: SharedElements, requested: Place, back: Place) -> None:
    """Adds the servers that handle reads. A server reads one stripe of a request at a time. After
    each stripe, the request queues again behind the other requests. Sequential reads use
    read-ahead."""
    net, setup, k = pvfs.net, pvfs.setup, pvfs.constants
    fits = setup.per_server_bytes <= setup.hardware.memory_bytes * 0.9
    stream: Colour = net.colour("stream", client=int, server=int, ahead=int, left=int, busy=bool)
    streams = net.place(
        "streams",
        stream,
        [
            (client, server, ahead, here - ahead, False)
            for client, server, here in streamed(setup)
            for ahead in [setup.in_memory_bytes(here) if fits else 0]
        ],
    )
    p, r, d = pvfs.asking.token("p"), pvfs.asking.token("r"), pvfs.one.token("d")
    daemon = pvfs.daemons
    reading = net.place("reading", pvfs.asking)
    queue, done = pvfs.disks
    # A token in the place `reading` is a stripe that a daemon is reading. Its field `total` is the
    # number of bytes of the request after this stripe.
    first = Min(p["bytes"], k["stripe_size"])
    # Only the first stripe of a request takes `server_request_s`. Tokens in the place `requested`
    # have a field `total` above 0 before the first stripe of their request, and 0 afterwards.
    handled_s = k["server_chunk_s"] + select(p["total"] > 0, k["server_request_s"], 0.0)
    pvfs.work(
        "accept",
        [Take(requested, "p"), Take(daemon, "d")],
        [Put(reading, [p["client"], p["server"], first, p["bytes"] - first, p["way"]], handled_s)],
        handled_s,
        guard=equal(p["server"], d["id"]) & (p["bytes"] > 0),
    )
    copy_s = r["bytes"] / k["memory_rate_bytes_per_s"]
    answered = [
        Put(daemon, [r["server"]], copy_s),
        Put(back, [r["client"], r["server"], r["bytes"], r["bytes"]], copy_s),
        Put(requested, [r["client"], r["server"], r["total"], number(0), r["way"]], copy_s),
    ]
    f = stream.token("f")
    of_stream = equal(r["client"], f["client"]) & equal(r["server"], f["server"])
    of_stream &= f["ahead"] >= r["bytes"]
    if setup.calls:
        of_stream &= equal(r["way"], pvfs.way["ahead"])
    pvfs.work(
        "read",
        [Take(reading, "r"), Take(streams, "f")],
        [
            *answered,
            Put(streams, [f["client"], f["server"], f["ahead"] - r["bytes"], f["left"], f["busy"]]),
        ],
        copy_s,
        guard=of_stream,
    )
    if setup.calls:
        _read_elsewhere(pvfs, reading, answered, copy_s)
    _read_ahead(pvfs, streams, fits)


def _read_ahead(pvfs: SharedElements, streams: Place, fits: bool) -> None:
    """Adds the transitions that read the read-ahead windows of the streams from the disk. If the
    data does not fit into memory (`fits` is false), pages are swapped as well."""
    net, k, kind = pvfs.net, pvfs.constants, pvfs.disk_kind
    queue, done = pvfs.disks
    f, q = streams.colour.token("f"), pvfs.request.token("q")
    # The first window of a file is read when the file is opened. Afterwards the window advances
    # with the reads.
    window = Min(f["left"], k["read_ahead_bytes"])
    swapped = ceiling(k["swap_share"] * window)
    swaps = [] if fits else [Put(queue, [f["server"], number(-2), swapped, kind["swap"]])]
    net.transition(
        "fetch",
        [Take(streams, "f")],
        [
            Put(queue, [f["server"], f["client"], window, kind["fetch"]]),
            *swaps,
            Put(streams, [f["client"], f["server"], f["ahead"], f["left"] - window, True]),
        ],
        guard=~f["busy"] & (f["left"] > 0) & (f["ahead"] < k["read_ahead_bytes"]),
    )
    net.transition(
        "fetched",
        [Take(done, "q"), Take(streams, "f")],
        [Put(streams, [f["client"], f["server"], f["ahead"] + q["bytes"], f["left"], False])],
        guard=equal(q["kind"], kind["fetch"])
        & equal(q["server"], f["server"])
        & equal(q["client"], f["client"]),
    )


def streamed(setup: Setup) -> list[tuple[int, int, int]]:
    """Returns one triple (client, server, bytes) for each pair of client and server. `bytes` is
    what the client reads sequentially from the server. If whole files are read, one stripe is added
    to the bytes."""
    pairs = [(c, s) for c in range(setup.clients) for s in range(setup.servers)]
    if not setup.calls:
        each = -(-setup.file_size // setup.width) + setup.stripe_size
        return [(client, server, each * setup.holds(client, server)) for client, server in pairs]
    sums: dict[tuple[int, int], int] = {}
    for one in setup.calls:
        if one.does == "read" and one.way == "ahead":
            for server, size in enumerate(one.shares):
                sums[one.client, server] = sums.get((one.client, server), 0) + size
    return [(*pair, sums.get(pair, 0)) for pair in pairs]


def _read_elsewhere(
    pvfs: SharedElements, reading: Place, answered: Sequence[Put], copy_s: Expr
) -> None:
    """Adds the transitions for those reads of a trace that are not sequential. These reads are
    served from memory, or from the disk after a seek."""
    net, way, seek = pvfs.net, pvfs.way, pvfs.disk_kind["seek"]
    r, q = pvfs.asking.token("r"), pvfs.request.token("q")
    queue, done = pvfs.disks
    again = equal(r["way"], way["hit"])
    pvfs.work("read_again", [Take(reading, "r")], answered, copy_s, guard=again)
    seeking = net.place("seeking", pvfs.asking)
    net.transition(
        "jump",
        [Take(reading, "r")],
        [Put(queue, [r["server"], r["client"], r["bytes"], seek]), Put(seeking, "r")],
        guard=equal(r["way"], way["jump"]),
    )
    pvfs.work(
        "jumped",
        [Take(done, "q"), Take(seeking, "r")],
        answered,
        copy_s,
        guard=equal(q["kind"], seek)
        & equal(q["server"], r["server"])
        & equal(q["client"], r["client"]),
    )
