"""Operations of GlusterFS: the client finds, copies and cuts; bricks are equal.

A piece goes to `copies` bricks and carries 1 / `data_fragments` of the bytes: replica r is
(1, r), disperse k + m is (k, k + m), plain distribute is (1, 1).
"""

from __future__ import annotations

from sympy import Max, Min, ceiling

from dfslab.filesystems.glusterfs.facts import PARAMETERS as P
from dfslab.spec.operation import (
    Node,
    call,
    choice,
    cpu,
    disk_read,
    disk_write,
    later,
    par,
    pipeline,
    send,
    seq,
)
from dfslab.spec.parameters import symbol

requests = Max(1, ceiling(P.file_size / P.request_size))
request_bytes = P.file_size / requests
piece_bytes = request_bytes / P.data_fragments


def _ask(name: str, seconds, copies=P.copies, response_bytes=256) -> Node:
    """One file operation wound to `copies` bricks at once, all of which must answer."""
    return seq(
        cpu("client", P.client_call_cpu),
        par(call("brick", name, cpu("brick", seconds), response_bytes=response_bytes),
            copies=copies),
    )  # fmt: skip


_lookup = _ask("lookup", P.lookup_cpu)
# The parent's layout is locked before a name is made or removed; unlocking is not waited for.
_lock = _ask("entrylk", P.lookup_cpu)
_unlock = choice((1 - Min(1, P.copies - 1), later(_ask("unlock", P.lookup_cpu))))
# Copies carry a mark of unfinished work while a name changes: set before, cleared after, and only
# then is the lock given back (seen as three more round trips on a bed with delayed links).
_marked = Min(1, P.copies - 1)


def _changed(name: str) -> Node:
    """A change of a name: marked on all copies where there are several."""
    mark = choice((_marked, _ask("xattrop", P.lookup_cpu)))
    cleared = choice((_marked, seq(_ask("xattrop", P.lookup_cpu),
                                   _ask("unlock", P.lookup_cpu))))  # fmt: skip
    return seq(mark, _ask(name, P.update_cpu), cleared, _unlock)


_create = seq(_lookup, _lock, _changed("create"), name="create")
_open = seq(_lookup, _ask("open", P.lookup_cpu), name="open")
_flush = seq(_ask("flush", P.lookup_cpu), name="close")

# The kernels of client and brick read ahead, so disk, network and client overlap.
_stream = pipeline(
    requests,
    seq(
        choice((P.cold, disk_read("brick", piece_bytes, "diskRead"))),
        cpu("brick", P.data_cpu + piece_bytes * P.brick_byte_cpu, "readv"),
    ),
    send("client", "reply", size_bytes=piece_bytes),
    cpu("client", (P.client_call_cpu + request_bytes * P.client_byte_cpu) / P.data_fragments),
    name="stream",
)
_read = seq(par(call("brick", "readv", _stream), copies=P.data_fragments), name="read")

_written = pipeline(
    requests,
    cpu("client", P.client_call_cpu + request_bytes * P.client_byte_cpu),
    par(
        send(
            "brick",
            "writev",
            cpu("brick", P.data_cpu + piece_bytes * P.brick_byte_cpu),
            later(disk_write("brick", piece_bytes), name="write-back"),
            size_bytes=piece_bytes,
        ),
        copies=P.copies,
    ),
    name="write",
)

# The shards of a file lie on as many sets of bricks, whose disks write at the same time.
_sets = symbol("brick.instances") / P.copies
_spread = 1 + P.shard * (Max(1, Min(_sets, ceiling(P.file_size / P.shard_block_size))) - 1)
_forced = disk_write("brick", P.file_size / P.data_fragments / _spread)
_fsync = choice(
    (P.fsync, seq(par(call("brick", "fsync", _forced), copies=P.copies * _spread), name="fsync")),
)

OPERATIONS = {
    "read": seq(_open, _read, _flush),
    "write": seq(_create, _written, _fsync, _flush),
    "append": seq(_open, _written, _fsync, _flush),
    "create": seq(_create, _flush),
    "stat": seq(_ask("lookup", P.lookup_cpu), name="stat"),
    "list": seq(
        _ask("opendir", P.lookup_cpu),
        _ask("readdirp", P.lookup_cpu + P.entries * P.entry_cpu, copies=1,
             response_bytes=300 * P.entries),
        name="list",
    ),
    "rename": seq(_lookup, _lock, _changed("rename"), name="rename"),
    "delete": seq(_lookup, choice((_marked, _lock)), _changed("unlink"), name="delete"),
}  # fmt: skip
