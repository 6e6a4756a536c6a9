"""Net components for the servers' local file systems: page cache, write-back and read-ahead."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.filesystems.pvfs.net_parts import Components, Setup
from dfslab.nets.build import Place, Put, Take
from dfslab.nets.colour import Colour


def write_server(
    pvfs: Components, arrived: Place, close: Place, acks: Place, synced: Place
) -> None:
    """Receive buffers first come first served, then the write of the local file system."""
    net = pvfs.net
    cache, files = _server_files(pvfs)
    daemon = pvfs.daemons
    writing = net.place("writing", pvfs.payload)
    queue, done = pvfs.disks
    net.transition(
        "accept_data",
        [Take(arrived, "p"), Take(daemon, "d")],
        [Put(writing, "p", "server_request_s")],
        guard="p.server == d.id",
    )
    full = net.place("full", pvfs.request)
    net.transition("has_room", [Take(full, "q")], guard="q.bytes == 0")
    net.transition("reclaim", [Take(full, "q")], [Put(queue, "q")], guard="q.bytes > 0")
    size = "min(w.bytes, stripe_size)"
    over = f"max(0, c.dirty + c.inactive + c.active + {size} - memory_for_data_bytes)"
    net.transition(
        "absorb",
        [Take(writing, "w"), Take(cache, "c"), Take(files, "f")],
        [
            Put(
                writing,
                ["w.client", "w.server", f"w.bytes - {size}", "w.total"],
                f"{size} / memory_rate_bytes_per_s",
            ),
            Put(
                cache,
                [
                    "c.server",
                    f"c.dirty + {size}",
                    f"max(0, c.inactive - {over})",
                    f"max(0, c.active - max(0, {over} - c.inactive))",
                    "c.wake",
                ],
            ),
            Put(files, ["f.client", "f.server", f"f.dirty + {size}", "f.sync"]),
            Put(full, ["c.server", "-2", f"ceil(swap_share * {over})", "swap"]),
        ],
        guard="w.server == c.server && c.server == f.server && w.client == f.client && w.bytes > 0 "
        f"&& c.dirty + {size} <= dirty_limit_bytes",
    )
    net.transition(
        "written",
        [Take(writing, "w")],
        [Put(daemon, ["w.server"]), Put(acks, ["w.client"], "network_latency_s")],
        guard="w.bytes == 0",
    )
    net.transition(
        "sync",
        [Take(close, "p"), Take(files, "f")],
        [Put(files, ["f.client", "f.server", "f.dirty", True])],
        guard="p.client == f.client && p.server == f.server",
    )
    net.transition(
        "synced",
        [Take(files, "f")],
        [
            Put(files, ["f.client", "f.server", "f.dirty", False]),
            Put(synced, ["f.client"], "network_latency_s"),
        ],
        guard="f.sync && f.dirty == 0",
    )
    _write_back(pvfs, cache, files, queue, done)


def _server_files(pvfs: Components) -> tuple[Place, Place]:
    """Each server's page cache (bytes by state), and each client's part of a file on it."""
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


def _write_back(pvfs: Components, cache: Place, files: Place, queue: Place, done: Place) -> None:
    """The write-back process: it cleans above the background limit, for a sync, or old data."""
    net = pvfs.net
    idle = pvfs.stations("write_back_idle", pvfs.setup.servers)
    timer = pvfs.stations("timer", pvfs.setup.servers)
    net.transition(
        "expire",
        [Take(timer, "t"), Take(cache, "c")],
        [
            Put(timer, "t", "dirty_expire_s"),
            Put(cache, ["c.server", "c.dirty", "c.inactive", "c.active", "c.dirty > 0"]),
        ],
        guard="t.id == c.server",
    )
    net.transition(
        "clean",
        [Take(idle, "k"), Take(cache, "c"), Take(files, "f")],
        [
            Put(queue, ["k.id", "f.client", "min(f.dirty, write_back_bytes)", "clean"]),
            Put(cache, "c"),
            Put(files, "f"),
        ],
        guard="k.id == c.server && c.server == f.server && f.dirty > 0 "
        "&& (f.sync || c.wake || c.dirty > dirty_background_bytes)",
    )
    net.transition(
        "cleaned",
        [Take(done, "q"), Take(cache, "c"), Take(files, "f")],
        [
            Put(idle, ["q.server"]),
            Put(
                cache,
                [
                    "c.server",
                    "c.dirty - q.bytes",
                    "c.inactive + q.bytes",
                    "c.active",
                    "c.wake && c.dirty > q.bytes",
                ],
            ),
            Put(files, ["f.client", "f.server", "f.dirty - q.bytes", "f.sync"]),
        ],
        guard="q.kind == clean && q.server == c.server && c.server == f.server "
        "&& q.client == f.client",
    )


def read_server(pvfs: Components, requested: Place, back: Place) -> None:
    """Requests first come first served, one stripe at a time, with read-ahead in the file."""
    net, setup = pvfs.net, pvfs.setup
    fits = setup.per_server_bytes <= setup.hardware.memory_bytes * 0.9
    stream: Colour = net.colour("stream", client=int, server=int, ahead=int, left=int, busy=bool)
    streams = net.place(
        "streams",
        stream,
        [
            (client, server, *((0, here) if not (setup.cached and fits) else (here, 0)), False)
            for client, server, here in streamed(setup)
        ],
    )
    daemon = pvfs.daemons
    reading = net.place("reading", pvfs.asking)
    queue, done = pvfs.disks
    # The stripe being read; `total` holds the bytes of the request after it.
    first = "min(p.bytes, stripe_size)"
    net.transition(
        "accept",
        [Take(requested, "p"), Take(daemon, "d")],
        [
            Put(
                reading,
                ["p.client", "p.server", first, f"p.bytes - {first}", "p.way"],
                "server_request_s",
            )
        ],
        guard="p.server == d.id && p.bytes > 0",
    )
    copy_s = "r.bytes / memory_rate_bytes_per_s"
    answered = [
        Put(daemon, ["r.server"], copy_s),
        Put(back, ["r.client", "r.server", "r.bytes", "r.bytes"], copy_s),
        Put(requested, ["r.client", "r.server", "r.total", "r.total", "r.way"], copy_s),
    ]
    of_stream = "r.client == f.client && r.server == f.server && f.ahead >= r.bytes"
    net.transition(
        "read",
        [Take(reading, "r"), Take(streams, "f")],
        [
            *answered,
            Put(streams, ["f.client", "f.server", "f.ahead - r.bytes", "f.left", "f.busy"]),
        ],
        guard=f"{of_stream} && r.way == ahead" if setup.calls else of_stream,
    )
    if setup.calls:
        _read_elsewhere(pvfs, reading, answered)
    # Opening a file already reads its first window; afterwards the window moves along.
    window = "min(f.left, read_ahead_bytes)"
    swapped = f"ceil(swap_share * ({window}))"
    swaps = [] if fits else [Put(queue, ["f.server", "-2", swapped, "swap"])]
    net.transition(
        "fetch",
        [Take(streams, "f")],
        [
            Put(queue, ["f.server", "f.client", window, "fetch"]),
            *swaps,
            Put(streams, ["f.client", "f.server", "f.ahead", f"f.left - {window}", True]),
        ],
        guard="!f.busy && f.left > 0 && f.ahead < read_ahead_bytes",
    )
    net.transition(
        "fetched",
        [Take(done, "q"), Take(streams, "f")],
        [Put(streams, ["f.client", "f.server", "f.ahead + q.bytes", "f.left", False])],
        guard="q.kind == fetch && q.server == f.server && q.client == f.client",
    )


def streamed(setup: Setup) -> list[tuple[int, int, int]]:
    """(client, server, bytes) of sequential reads; for whole files one stripe more."""
    pairs = [(c, s) for c in range(setup.clients) for s in range(setup.servers)]
    if not setup.calls:
        each = -(-setup.file_size // setup.servers) + setup.stripe_size
        return [(client, server, each) for client, server in pairs]
    sums: dict[tuple[int, int], int] = {}
    for one in setup.calls:
        if one.does == "read" and one.way == "ahead":
            for server, size in enumerate(one.shares):
                sums[one.client, server] = sums.get((one.client, server), 0) + size
    return [(*pair, sums.get(pair, 0)) for pair in pairs]


def _read_elsewhere(pvfs: Components, reading: Place, answered: Sequence[Put]) -> None:
    """Non-sequential reads of a trace: from memory, or from the disk after a seek."""
    net = pvfs.net
    queue, done = pvfs.disks
    net.transition("read_again", [Take(reading, "r")], answered, guard="r.way == hit")
    seeking = net.place("seeking", pvfs.asking)
    net.transition(
        "jump",
        [Take(reading, "r")],
        [Put(queue, ["r.server", "r.client", "r.bytes", "seek"]), Put(seeking, "r")],
        guard="r.way == jump",
    )
    same = "q.server == r.server && q.client == r.client"
    net.transition(
        "jumped", [Take(done, "q"), Take(seeking, "r")], answered, guard=f"q.kind == seek && {same}"
    )
