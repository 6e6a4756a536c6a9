"""Describes the operations of GlusterFS: the client finds, replicates and splits data; all bricks
have equal roles.

Each write request goes to `copies` bricks, and each read request to `data_fragments` bricks. A
brick handles 1 / `data_fragments` of the bytes of the request. The values depend on the type of the
volume:
- replica r: `copies` = r, `data_fragments` = 1
- disperse k + m: `copies` = k + m, `data_fragments` = k
- plain distribute: both are 1
"""

from __future__ import annotations

from dfslab.filesystems.glusterfs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import (
    Expr,
    Max,
    Min,
    Rational,
    ceiling,
    floor,
    named,
    select,
    sqrt,
)
from dfslab.spec.steps.heads import ELECTRONICS_S, FORCED_SEEKS, seeks_of, seeks_of_unit, uncached_s
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    call,
    choice,
    cpu,
    delay,
    disk_read,
    disk_use,
    disk_write,
    either,
    hold_thread,
    later,
    par,
    pipeline,
    repeat,
    send,
    seq,
    when,
)
from dfslab.spec.steps.read_ahead import IN_FLIGHT_BYTES, windows_of
from dfslab.spec.systems.parameters import symbol

# Size of a page in bytes. The kernel reads whole pages into its cache. A request of a buffered read
# therefore has at least the bytes of a page, or of the whole file if the file is smaller.
PAGE_BYTES = 4096
call_bytes = Min(P.request_size, P.transfer_size)
calls = named("calls", Max(1, ceiling(P.file_size / call_bytes)))
read_bytes = select(P.direct, call_bytes, Max(call_bytes, Min(PAGE_BYTES, P.file_size)))
requests = named("requests", Max(1, ceiling(P.file_size / read_bytes)))
request_bytes = named("request_bytes", P.file_size / requests)
piece_bytes = request_bytes / P.data_fragments
# The number of requests of a sequential read. The kernel sends one request for each read-ahead
# window. If a window is larger than the largest request (`request_size`), the window is split into
# several requests.
ahead_requests = named(
    "ahead_requests", Max(windows_of(P.file_size), ceiling(P.file_size / P.request_size))
)
ahead_bytes = named("ahead_bytes", P.file_size / ahead_requests)
merged_writes = named("merged_writes", Max(1, ceiling(P.file_size / P.request_size)))
ahead_piece_bytes = ahead_bytes / P.data_fragments
# Bricks open a file with the client's flags, so direct I/O at the client is also direct at the
# bricks.
uncached = P.direct | P.cold
one_by_one = P.direct | P.scattered
copied, dispersed = P.copies > 1, P.data_fragments > 1
# A subvolume is a set of bricks that together store a file. The hash of a file's name, or of a
# shard's name, selects the subvolume.
subvolumes = symbol("brick.instances") / P.copies
spread = P.shard & (P.file_size > P.shard_block_size)
more_shards = named("more_shards", select(spread, ceiling(P.file_size / P.shard_block_size) - 1, 0))
# A lookup also returns the content of files up to 64 KiB, except on a volume with disperse or
# shard.
QUICK_BYTES = 65536
quick = named(
    "content_in_lookup", P.quick_read & (P.file_size <= QUICK_BYTES) & ~P.shard & ~dispersed
)


def _served(*work: Node) -> Node:
    """Returns the work of a brick for one request as a step that occupies one of the brick's I/O
    threads."""
    return hold_thread("brick", P.io_thread_count, seq(*work), name="serve")


def _ask(
    name: str,
    seconds: Expression,
    *work: Node,
    copies: Expression = P.copies,
    response_bytes: Expression = 256,
) -> Node:
    """Returns the step that sends one file operation to `copies` bricks concurrently and waits
    until all of them have answered. Each brick spends `seconds` of processor time on it, then does
    `work`."""
    served = _served(cpu("brick", seconds), *work)
    return seq(
        cpu("client", P.client_call_cpu),
        par(call("brick", name, served, response_bytes=response_bytes), copies=copies),
    )


# A lookup that misses the bricks' caches takes `cold_lookup_cpu` seconds longer. `cold` is the
# probability of this.
_lookup = _ask("lookup", P.lookup_cpu + P.cold * P.cold_lookup_cpu)
# The release of a lock. On a replicated volume, a lock keeps the replicas consistent. The client
# does not wait until the lock is released. A request that marks a change as pending is sent only if
# the change fails, so it is not modelled. The types and numbers of calls are those that the bricks
# of a testbed counted (`volume profile`).
_unlock = later(_ask("unlock", P.lookup_cpu))


def _changed(name: str, called: str) -> Node:
    """Returns the step that changes a directory entry by the operation `called`. On a replicated
    volume, a separate request called `name` locks the entry first."""
    alone = _ask(called, P.update_cpu)
    locked = seq(_ask(name, P.lookup_cpu), alone, _unlock)
    return either(copied & ~dispersed, locked, alone)


_create = seq(_lookup, _changed("entrylk", "create"), name="create")
_open_call = _ask("open", P.lookup_cpu)
_open = seq(_lookup, _open_call, name="open")
_flush_call = _ask("flush", P.lookup_cpu)
_locked = when(dispersed, seq(_ask("inodelk", P.lookup_cpu), _unlock))
_flush = seq(_locked, _flush_call, name="close")

# A rename on a volume whose names are spread over several sets of bricks. The client locks the
# layouts of the old and the new directory on all sets. If the new name belongs to another set than
# the old name, the sets create a pointer. With more than two sets, this is the usual case.
_spread_rename = seq(
    repeat(3, _ask("inodelk", P.lookup_cpu)),
    repeat(2, _ask("entrylk", P.lookup_cpu)),
    _lookup,
    *(_ask(name, P.update_cpu) for name in ("mknod", "link", "rename", "unlink", "setattr")),
)

# The client's kernel reads ahead, and IN_FLIGHT_BYTES are in flight during one round trip. The
# first IN_FLIGHT_BYTES of a file need no further round trip. Each later request of `ahead_bytes`
# waits ahead_bytes / IN_FLIGHT_BYTES round trips.
_waiting = Max(0, 1 - IN_FLIGHT_BYTES / P.file_size)
_in_flight = delay(
    "client", 2 * P.network_latency * ahead_bytes / IN_FLIGHT_BYTES * _waiting, "read_ahead"
)
# The kernels of client and brick read ahead, so disk, network and client work at the same time.
_stream = pipeline(
    ahead_requests,
    seq(
        when(
            uncached,
            disk_read(
                "brick",
                ahead_piece_bytes,
                "diskRead",
                seeks_of_unit(ahead_requests, ahead_piece_bytes),
            ),
        ),
        cpu("brick", P.data_cpu + ahead_piece_bytes * P.brick_byte_cpu, "readv"),
    ),
    send("client", "reply", size_bytes=ahead_piece_bytes),
    _in_flight,
    cpu("client", (P.client_call_cpu + ahead_bytes * P.client_byte_cpu) / P.data_fragments),
    name="stream",
)
# What the client fetches for random reads depends on its translators, because the kernel does not
# read ahead for direct or random reads:
# - with the cache translator (io_cache), each page of the file is fetched once
# - with only the read-ahead translator (read_ahead), whole pages are fetched again for each
#   request, because this translator drops its pages after a jump
# - with neither translator, each request fetches only its own bytes. The same holds for direct
#   reads.
_jumps = P.scattered & ~P.direct
_pages_once = _jumps & P.io_cache
_pages_each = _jumps & ~P.io_cache & P.read_ahead
fetches = named("fetches", select(_pages_once, ahead_requests, requests))
_page_bytes = Min(P.file_size, P.request_size) / P.data_fragments
fetched_bytes = named(
    "fetched_bytes",
    select(_pages_once, ahead_piece_bytes, select(_pages_each, _page_bytes, piece_bytes)),
)
_turn = repeat(
    fetches,
    cpu(
        "client",
        requests / fetches * P.client_call_cpu + P.file_size / fetches * P.client_byte_cpu,
        "request",
    ),
    par(
        call(
            "brick",
            "readv",
            when(
                uncached,
                disk_use(
                    "brick",
                    piece_bytes * requests / fetches,
                    "read",
                    uncached_s("brick", fetches),
                    "diskRead",
                ),
            ),
            cpu("brick", P.data_cpu + fetched_bytes * P.brick_byte_cpu, "readv"),
            response_bytes=fetched_bytes,
        ),
        copies=P.data_fragments,
    ),
)
# If a file has several shards, each shard after the first is a separate file on the bricks. The
# client must look up each of these files by name.
_read = seq(
    repeat(more_shards, _lookup),
    either(
        one_by_one,
        _turn,
        par(send("brick", "readv", _stream, size_bytes=256), copies=P.data_fragments),
    ),
    name="read",
)
_content = _ask(
    "lookup",
    P.lookup_cpu + P.file_size * P.brick_byte_cpu,
    when(P.cold, disk_read("brick", P.file_size, "diskRead")),
    response_bytes=256 + P.file_size,
)
# Whether the open call is sent to the bricks. The call is not sent if the lookup returned the
# content of the file and the option open-behind delays the open call.
_eager = ~(quick & P.open_behind)
# Number of seconds for which the client's kernel remembers the names of files that it wrote. During
# this time, reads of such a file are answered from the kernel's page cache. The open call goes only
# to the client's own process, not to a brick.
KNOWN_S = 1
# Number of round trips for writing a file: lookup, create, write and flush take one round trip
# each. On a replicated volume, the lock of the directory entry takes another round trip.
WRITING_ROUNDS = 4 + select(copied & ~dispersed, 1, 0)
WRITING_S = named(
    "writing_s",
    Rational(1, 500) + P.clients * P.copies / 2000 + 2 * P.network_latency * WRITING_ROUNDS,
)
_age_s = named(
    "age_s",
    P.entries
    * (WRITING_S + P.file_size * P.copies / P.data_fragments / symbol("client.nic_bandwidth")),
)
_forgotten = named("forgotten", Max(0, 1 - KNOWN_S / Max(_age_s, KNOWN_S)))
_known = seq(
    seq(cpu("client", P.short_cpu), choice((_forgotten, _lookup)), name="open"),
    seq(
        cpu(
            "client",
            ceiling(P.file_size / P.transfer_size) * symbol("client.call_time")
            + P.file_size / symbol("client.copy_rate"),
        ),
        name="read",
    ),
    seq(cpu("client", P.short_cpu), name="close"),
)
# An open or close that is not sent to bricks is still a FUSE request, which the client's process
# answers. The client's process also answers each read of content that came with the lookup.
_short = cpu("client", P.short_cpu)
_answered = seq(
    cpu("client", select(one_by_one, requests, ahead_requests) * P.short_cpu), name="read"
)
_requested = seq(
    seq(either(quick, _content, _lookup), either(_eager, _open_call, _short), name="open"),
    either(quick, _answered, _read),
    seq(either(_eager, _flush_call, _short), name="close"),
)
_read_file = choice((P.kept, _known), (1 - P.kept, _requested))

# With write-behind, the client's process may answer a write before the bricks do (`early`). The
# process then merges neighbouring writes into larger writes. Synchronous writes are answered by the
# bricks, so a client has only one synchronous write in flight. Direct writes are answered by the
# bricks only if `performance.strict-o-direct` is on. By default it is off, and write-behind ignores
# O_DIRECT (xlators/performance/write-behind/src/write-behind.c).
_strict = P.direct & P.strict_o_direct
early = named("answered_early", P.write_behind & ~_strict & ~P.forced)
writes = named("writes", select(early & ~P.scattered, merged_writes, calls))
write_bytes = named("write_bytes", P.file_size / writes)
written_piece_bytes = write_bytes / P.data_fragments
# The client sends each byte once to every brick that stores it, and each time needs processor time
# for the byte.
_sent = cpu(
    "client",
    calls / writes * P.client_call_cpu + P.copies * written_piece_bytes * P.client_byte_cpu,
    "request",
)
# A brick's work for one write request. The data of a synchronous write is on disk before the brick
# answers. Other data is written to disk later: with `fsync` by the step `_fsync`, without `fsync`
# at any time after the answer.
_stored = (
    cpu(
        "brick",
        P.data_cpu + select(copied, P.copied_cpu, 0) + written_piece_bytes * P.brick_byte_cpu,
    ),
    either(
        P.forced,
        disk_write("brick", written_piece_bytes, seeks=FORCED_SEEKS),
        either(
            P.direct,
            # A direct write is acknowledged as soon as the data is in the disk's own buffer. The
            # disk writes the buffer to its medium later, at the disk's write rate.
            seq(
                delay("brick", Min(symbol("brick.disk_latency"), ELECTRONICS_S), "buffered"),
                later(
                    disk_write(
                        "brick",
                        written_piece_bytes,
                        seeks=seeks_of_unit(writes, written_piece_bytes),
                    )
                ),
            ),
            when(
                ~P.fsync,
                later(
                    disk_write(
                        "brick",
                        written_piece_bytes,
                        seeks=seeks_of_unit(writes, written_piece_bytes),
                    ),
                    name="write-back",
                ),
            ),
        ),
    ),
)
# During one round trip, the client sends the bytes of one write-behind window. A request of
# `write_bytes` therefore waits write_bytes / write_behind_window_size round trips.
_window = delay(
    "client", 2 * P.network_latency * write_bytes / P.write_behind_window_size, "window"
)
# A stripe consists of 512 bytes of each data fragment. A write may begin or end within a stripe.
# The client then first reads the other bytes of this stripe, and write-behind is not used.
_stripes = named("stripes", write_bytes / (512 * P.data_fragments))
_ragged = named("partial_stripes", dispersed & (_stripes > floor(_stripes)))
_rest = when(
    _ragged,
    repeat(
        2,
        par(
            call("brick", "readv", cpu("brick", P.data_cpu), response_bytes=512),
            copies=P.data_fragments,
        ),
    ),
)
_behind = pipeline(
    writes,
    _sent,
    _window,
    par(send("brick", "writev", *_stored, size_bytes=written_piece_bytes), copies=P.copies),
    name="stream",
)
_in_turn = repeat(
    writes,
    _sent,
    _rest,
    par(call("brick", "writev", *_stored, request_bytes=written_piece_bytes), copies=P.copies),
)
_written = seq(
    repeat(more_shards, _lookup, _ask("mknod", P.update_cpu)),
    either(early & ~_ragged, _behind, _in_turn),
    name="write",
)


def _forced(size_bytes: Expr, *waits: Node) -> Node:
    """Returns the step that forces `size_bytes` of a file to disk on one set of bricks. `waits` are
    additional steps of each brick."""
    return par(
        call(
            "brick",
            "fsync",
            cpu("brick", P.commit_cpu),
            when(
                ~P.direct,
                disk_write("brick", size_bytes / P.data_fragments, seeks=seeks_of(size_bytes)),
            ),
            *waits,
        ),
        copies=P.copies,
    )


# Shards are forced to disk on all sets of bricks concurrently, so fsync waits for the set with the
# most shards. This set is a different one for each file. Its additional time is therefore modelled
# as a delay, not as work of a particular brick.
_share_bytes = named("share_bytes", P.file_size / subvolumes)
_shards = named("shards", Max(1, ceiling(P.file_size / P.shard_block_size)))
_above = P.shard_unevenness * sqrt(Max(0, subvolumes - 1) / _shards)
_fullest = delay(
    "brick", _above * _share_bytes / P.data_fragments / symbol("brick.disk_write_rate"), "fullest"
)
_fsync = when(
    P.fsync & ~P.forced,
    seq(
        either(
            spread, par(_forced(_share_bytes, _fullest), copies=subvolumes), _forced(P.file_size)
        ),
        name="fsync",
    ),
)

# Every set of bricks stores a part of the names of a directory, and one brick of the set lists this
# part. A request to a brick lists as many bytes of names as the kernel requests from the client's
# process. Since Linux 6.16, this is the size of the program's buffer, which is 32 KiB in the C
# library's readdir. In older kernels, this size is a page (fs/fuse/readdir.c).
LISTING_BYTES, ENTRY_BYTES = 32768, 200
_entries = P.entries / subvolumes
_listings = named("listings", Max(1, ceiling(_entries * ENTRY_BYTES / LISTING_BYTES)))
_each_listing = _entries / _listings
_listed = repeat(
    _listings,
    call(
        "brick",
        "readdirp",
        _served(cpu("brick", P.lookup_cpu + _each_listing * P.entry_cpu)),
        response_bytes=300 * _each_listing,
    ),
    cpu("client", P.client_call_cpu + _each_listing * P.client_entry_cpu),
)
_ended = call("brick", "readdirp", _served(cpu("brick", P.lookup_cpu)))
_list = seq(
    _ask("opendir", P.lookup_cpu),
    cpu("client", P.client_call_cpu),
    either(
        P.parallel_readdir,
        par(seq(_listed, _ended), copies=subvolumes),
        repeat(subvolumes, _listed, _ended),
    ),
    name="list",
)

OPERATIONS = {
    "read": _read_file,
    "write": seq(_create, _written, _fsync, _flush),
    "append": seq(_open, _written, _fsync, _flush),
    "overwrite": seq(_open, _written, _fsync, _flush),
    "create": seq(_create, _flush),
    "stat": seq(_ask("lookup", P.lookup_cpu), name="stat"),
    "list": _list,
    "rename": seq(
        _lookup,
        _lookup,
        either(subvolumes > 1, _spread_rename, _changed("entrylk", "rename")),
        name="rename",
    ),
    "delete": seq(_lookup, _changed("entrylk", "unlink"), name="delete"),
}
