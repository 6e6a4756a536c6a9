"""Operations of GlusterFS: the client finds, copies and cuts; bricks are equal.

A piece goes to `copies` bricks and carries 1 / `data_fragments` of the bytes: replica r is
(1, r), disperse k + m is (k, k + m), plain distribute is (1, 1).
"""

from __future__ import annotations

from dfslab.filesystems.glusterfs.facts import PARAMETERS as P
from dfslab.spec.expression import Max, Min, Rational, ceiling, floor, sqrt
from dfslab.spec.operation import (
    Node,
    call,
    choice,
    cpu,
    delay,
    disk_read,
    disk_write,
    hold_thread,
    later,
    par,
    pipeline,
    repeat,
    send,
    seq,
)
from dfslab.spec.parameters import symbol

# The kernel cuts calls into requests, and makes larger ones only where it reads ahead; what it
# reads into its cache is whole pages.
PAGE_BYTES = 4096
# Adapters carry frames: 1448 bytes of every 1514 are payload.
FRAMES = Rational(1514, 1448)
call_bytes = Min(P.request_size, P.transfer_size)
calls = Max(1, ceiling(P.file_size / call_bytes))
read_bytes = (1 - P.direct) * Max(call_bytes, Min(PAGE_BYTES, P.file_size)) + P.direct * call_bytes
requests = Max(1, ceiling(P.file_size / read_bytes))
request_bytes = P.file_size / requests
piece_bytes = request_bytes / P.data_fragments
ahead_requests = Max(1, ceiling(P.file_size / P.request_size))
ahead_bytes = P.file_size / ahead_requests
ahead_piece_bytes = ahead_bytes / P.data_fragments
# Bricks open a file as the client did, so direct I/O is direct there, too.
uncached = 1 - (1 - P.direct) * (1 - P.cold)
one_by_one = 1 - (1 - P.direct) * (1 - P.scattered)
# Distinct sets of bricks: names, and shards of files, are hashed over them.
subvolumes = symbol("brick.instances") / P.copies
more_shards = P.shard * Max(0, ceiling(P.file_size / P.shard_block_size) - 1)
spread = Min(1, more_shards)
# A lookup brings the content of files up to 64 KiB; disperse and shard ask for none.
QUICK_BYTES = 65536
small = Max(0, 2 - ceiling(P.file_size / QUICK_BYTES))
quick = P.quick_read * small * (1 - P.shard) * Max(0, 2 - P.data_fragments)


def _served(*work: Node) -> Node:
    """What a brick does for one request, with one of its threads."""
    return hold_thread("brick", P.io_thread_count, seq(*work), name="serve")


def _ask(name: str, seconds, *work: Node, copies=P.copies, response_bytes=256) -> Node:
    """One file operation wound to `copies` bricks at once, all of which must answer."""
    served = _served(cpu("brick", seconds), *work)
    return seq(
        cpu("client", P.client_call_cpu),
        par(call("brick", name, served, response_bytes=response_bytes), copies=copies),
    )


_lookup = _ask("lookup", P.lookup_cpu + P.cold * P.cold_lookup_cpu)
# Copies are kept alike by a lock, which is given back without being waited for; a change is only
# marked where it fails. What is asked, and how often, was counted by the bricks (`volume profile`).
_copied = Min(1, P.copies - 1)
_dispersed = Min(1, P.data_fragments - 1)
_replicated = _copied * (1 - _dispersed)
_unlock = later(_ask("unlock", P.lookup_cpu))


def _changed(name: str, called: str) -> Node:
    """A change of a name: replicas lock it; fragments hold the directory's lock for longer."""
    alone = _ask(called, P.update_cpu)
    locked = seq(_ask(name, P.lookup_cpu), alone, _unlock)
    return choice((_replicated, locked), (1 - _replicated, alone))


_create = seq(_lookup, _changed("entrylk", "create"), name="create")
_open_call = _ask("open", P.lookup_cpu)
_open = seq(_lookup, _open_call, name="open")
_flush_call = _ask("flush", P.lookup_cpu)
_locked = choice((_dispersed, seq(_ask("inodelk", P.lookup_cpu), _unlock)))
_flush = seq(_locked, _flush_call, name="close")

# Sets of bricks lock both directories' layouts, and leave a pointer where the new name belongs
# to another set than the old, which is the rule with more than two.
_spread_rename = seq(
    repeat(3, _ask("inodelk", P.lookup_cpu)),
    repeat(2, _ask("entrylk", P.lookup_cpu)),
    _lookup,
    *(_ask(name, P.update_cpu) for name in ("mknod", "link", "rename", "unlink", "setattr")),
)
_several = Min(1, ceiling(subvolumes - 1))

# The kernels of client and brick read ahead, so disk, network and client overlap.
_stream = pipeline(
    ahead_requests,
    seq(
        choice((uncached, disk_read("brick", ahead_piece_bytes, "diskRead"))),
        cpu("brick", P.data_cpu + ahead_piece_bytes * P.brick_byte_cpu, "readv"),
    ),
    send("client", "reply", size_bytes=FRAMES * ahead_piece_bytes),
    cpu("client", (P.client_call_cpu + ahead_bytes * P.client_byte_cpu) / P.data_fragments),
    name="stream",
)
# Nobody reads ahead of direct I/O, or of a reader who jumps. Of what a reader who jumps asks for,
# the client's translators fetch the whole page: read-ahead again for each request, as it forgets
# its pages when it is surprised; the cache, which comes before it, once.
_jumps = P.scattered * (1 - P.direct)
_pages_once = _jumps * P.io_cache
_pages_each = _jumps * (1 - P.io_cache) * P.read_ahead
fetches = _pages_once * ahead_requests + (1 - _pages_once) * requests
_page_bytes = Min(P.file_size, P.request_size) / P.data_fragments
fetched_bytes = (
    _pages_once * ahead_piece_bytes
    + _pages_each * _page_bytes
    + (1 - _pages_once - _pages_each) * piece_bytes
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
            choice((uncached, disk_read("brick", piece_bytes * requests / fetches, "diskRead"))),
            cpu("brick", P.data_cpu + fetched_bytes * P.brick_byte_cpu, "readv"),
            response_bytes=FRAMES * fetched_bytes,
        ),
        copies=P.data_fragments,
    ),
)
# Every further shard is a file of its own, found by its name.
_read = seq(
    repeat(more_shards, _lookup),
    choice(
        (one_by_one, _turn),
        (
            1 - one_by_one,
            par(send("brick", "readv", _stream, size_bytes=256), copies=P.data_fragments),
        ),
    ),
    name="read",
)
_content = _ask(
    "lookup",
    P.lookup_cpu + P.file_size * P.brick_byte_cpu,
    choice((P.cold, disk_read("brick", P.file_size, "diskRead"))),
    response_bytes=256 + FRAMES * P.file_size,
)
# Where the content came with the lookup, an open is only sent if it may not be left out.
_eager = 1 - quick * P.open_behind
# The kernel answers from the pages that the client wrote, and knows their names for a second; the
# open is left out, so only the client's own process is told of it.
KNOWN_S = 1
WRITING_S = Rational(1, 500) + P.clients * P.copies / 2000
_age_s = P.entries * (
    WRITING_S + P.file_size * P.copies / P.data_fragments / symbol("client.nic_bandwidth")
)
_forgotten = Max(0, 1 - KNOWN_S / Max(_age_s, KNOWN_S))
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
_asked = seq(
    seq(choice((quick, _content), (1 - quick, _lookup)), choice((_eager, _open_call)), name="open"),
    choice((1 - quick, _read)),
    seq(choice((_eager, _flush_call)), name="close"),
)
_read_file = choice((P.kept, _known), (1 - P.kept, _asked))

# The client's process joins neighbouring writes that it may answer early into larger ones.
joined = P.write_behind * (1 - P.scattered)
writes = joined * ahead_requests + (1 - joined) * calls
write_bytes = P.file_size / writes
written_piece_bytes = write_bytes / P.data_fragments
_sent = cpu(
    "client", calls / writes * P.client_call_cpu + write_bytes * P.client_byte_cpu, "request"
)
# What is forced before the end is written back then.
_stored = (
    cpu("brick", P.data_cpu + _copied * P.copied_cpu + written_piece_bytes * P.brick_byte_cpu),
    choice(
        (P.direct, disk_write("brick", written_piece_bytes)),
        (
            (1 - P.direct) * (1 - P.fsync),
            later(disk_write("brick", written_piece_bytes), name="write-back"),
        ),
    ),
)
# A window's bytes are on their way for one round trip, so a request waits for its share of it.
_window = delay(
    "client", 2 * P.network_latency * write_bytes / P.write_behind_window_size, "window"
)
# Data are cut at multiples of 512 bytes a fragment: of what begins or ends between, the rest is
# read first, so nobody writes behind.
_stripes = write_bytes / (512 * P.data_fragments)
_ragged = _dispersed * ceiling(_stripes - floor(_stripes))
_rest = choice(
    (
        _ragged,
        repeat(
            2,
            par(
                call("brick", "readv", cpu("brick", P.data_cpu), response_bytes=512),
                copies=P.data_fragments,
            ),
        ),
    )
)
_behind = pipeline(
    writes,
    _sent,
    _window,
    par(
        send("brick", "writev", *_stored, size_bytes=FRAMES * written_piece_bytes), copies=P.copies
    ),
    name="stream",
)
_overlapped = P.write_behind * (1 - _ragged)
_in_turn = repeat(
    writes,
    _sent,
    _rest,
    par(
        call("brick", "writev", *_stored, request_bytes=FRAMES * written_piece_bytes),
        copies=P.copies,
    ),
)
_written = seq(
    repeat(more_shards, _lookup, _ask("mknod", P.update_cpu)),
    choice((_overlapped, _behind), (1 - _overlapped, _in_turn)),
    name="write",
)


def _forced(size_bytes, *waits: Node) -> Node:
    """`size_bytes` of a file put on the disks of one set of bricks."""
    return par(
        call(
            "brick",
            "fsync",
            cpu("brick", P.commit_cpu),
            disk_write("brick", size_bytes / P.data_fragments),
            *waits,
        ),
        copies=P.copies,
    )


# Shards are forced on all sets at once; which set has most differs from file to file, so that is
# time, not work.
_share_bytes = P.file_size / subvolumes
_shards = Max(1, ceiling(P.file_size / P.shard_block_size))
_above = P.shard_unevenness * sqrt(Max(0, subvolumes - 1) / _shards)
_fullest = delay(
    "brick", _above * _share_bytes / P.data_fragments / symbol("brick.disk_write_rate"), "fullest"
)
_fsync = choice(
    (
        P.fsync,
        seq(
            choice(
                (1 - spread, _forced(P.file_size)),
                (spread, par(_forced(_share_bytes, _fullest), copies=subvolumes)),
            ),
            name="fsync",
        ),
    )
)

# One brick of every set has a part of a directory's names.
_entries = P.entries / subvolumes
_listed = call(
    "brick",
    "readdirp",
    _served(cpu("brick", P.lookup_cpu + _entries * P.entry_cpu)),
    response_bytes=300 * _entries,
)
_ended = call("brick", "readdirp", _served(cpu("brick", P.lookup_cpu)))
_list = seq(
    _ask("opendir", P.lookup_cpu),
    cpu("client", P.client_call_cpu),
    choice(
        (P.parallel_readdir, par(seq(_listed, _ended), copies=subvolumes)),
        (1 - P.parallel_readdir, repeat(subvolumes, _listed, _ended)),
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
        choice((_several, _spread_rename), (1 - _several, _changed("entrylk", "rename"))),
        name="rename",
    ),
    "delete": seq(_lookup, _changed("entrylk", "unlink"), name="delete"),
}
