"""Describes the operations of CephFS. Names come from the metadata server, and objects come
directly from the object stores.

Hashing distributes the objects of a file over all stores. The description assumes that each store
has an equal part of the file's bytes. With few placement groups, the real distribution is uneven,
so the factor `uneven` increases the time of the disks. The primary store of an object forwards
copies or fragments of it to other stores, and answers when all of them are on disk.
"""

from __future__ import annotations

from collections.abc import Callable

from dfslab.filesystems.cephfs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, expression, named, select, sqrt
from dfslab.spec.steps.heads import FORCED_SEEKS, seeks_of
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    at,
    call,
    cpu,
    disk_read,
    disk_write,
    either,
    later,
    par,
    pipeline,
    repeat,
    reply,
    send,
    seq,
    when,
)
from dfslab.spec.steps.read_ahead import windows_of
from dfslab.spec.systems.parameters import symbol

stores = symbol("osd.instances")
# Placement groups are distributed over stores like balls over bins. The fullest of n bins exceeds
# the mean by about sqrt(2 ln n) standard deviations. For two to eight stores, 1.2 approximates the
# mean excess in standard deviations.
each_store = P.placement_groups * P.copies / stores
deviation = sqrt(Max(0, 1 - P.copies / stores) / each_store)
uneven = 1 + select(stores > 1, 1.2 * deviation, 0)
# Most bytes of one FUSE request.
REQUEST_BYTES = 131072
# Largest numbers of names and of bytes of data that a client's process (ceph-fuse) caches by
# default: the options client_cache_size and client_oc_size. The process answers from this cache
# while it has the capabilities of a file, even after the kernel has dropped its own caches.
#
# The least recently used names and data are dropped first. If a workload visits files repeatedly in
# the same order, the cache therefore serves either all visits or none: either all files fit into
# the cache, or each file has been dropped when it is visited again.
KEPT_NAMES, KEPT_BYTES = 16384, 200 * 2**20
_mount_names = P.entries * P.clients / symbol("client.instances")
knows_names = named("client_knows_names", _mount_names <= KEPT_NAMES)
_holds_data = (_mount_names * P.file_size <= KEPT_BYTES) & knows_names & ~P.direct


def _ask(name: str, seconds: Expression, response_bytes: Expression = 512) -> Node:
    """Returns the step in which the client calls the metadata server. The call takes `seconds` of
    the server's processor time. The server writes its journal after the answer, so the step does
    not include this write."""
    return seq(
        cpu("client", P.client_call_cpu),
        call("mds", name, cpu("mds", seconds), request_bytes=512, response_bytes=response_bytes),
    )


def _requests(count: Expression = 1, name: str = "") -> Node:
    """Returns the step in which the client's process serves `count` FUSE requests."""
    return cpu("client", count * P.client_call_cpu, name)


def _spread(part: Callable[[Expr, Expr], Node]) -> Node:
    """Returns the step in which a file is read from stores or written to them. A file of at most
    one stripe unit is on one store. A larger file is in equal parts on all stores.

    `part(size, slowdown)` returns the step at one store: `size` is the number of bytes at this
    store, and `slowdown` is the factor by which the disk of the store is slower because stores are
    used unevenly.
    """
    everywhere = par(part(P.file_size / stores, uneven), copies=stores)
    return either(P.file_size > P.stripe_unit, everywhere, part(P.file_size, expression(1)))


# `_request_s` is the client's processor time for FUSE requests, in seconds per byte that is read:
# client_call_cpu * number of requests / file size. The number of requests depends on read-ahead.
# With read-ahead, there is one request for each window. Without read-ahead, there is one request
# for each call, or several requests for a call of more than REQUEST_BYTES.
_by_call = Max(1, ceiling(P.file_size / Min(P.transfer_size, REQUEST_BYTES)))
_read_requests = select(P.scattered | P.direct, _by_call, windows_of(P.file_size))
_request_s = named("request_s", P.client_call_cpu * _read_requests / Max(1, P.file_size))


def _copied_s(size_bytes: Expr, request_bytes: Expression) -> Expr:
    """Returns the client's processor time in seconds for moving `size_bytes` in FUSE requests of at
    most `request_bytes`."""
    requests = Max(1, ceiling(size_bytes / request_bytes))
    found: Expr = requests * P.client_call_cpu + size_bytes * P.client_byte_cpu
    return found


def _part_read(size_bytes: Expr, slower: Expr) -> Node:
    """Returns the step that reads `size_bytes` of a file from one store. Objects are read one after
    another, and each is one extent of the disk. `slower` is the factor by which the disk is slower
    because the stores are used unevenly."""
    objects = named("objects", Max(1, ceiling(size_bytes / P.object_size)))
    object_bytes = size_bytes / objects
    seeks = seeks_of(object_bytes)
    stream = pipeline(
        objects,
        seq(
            when(P.cold, disk_read("osd", object_bytes * slower, "diskRead", seeks)),
            cpu("osd", P.object_cpu + object_bytes * P.store_byte_cpu, "readObject"),
        ),
        send("client", "object", size_bytes=object_bytes),
        cpu("client", object_bytes * (_request_s + P.client_byte_cpu), "copy"),
        name="stream",
    )
    return call("osd", "read", stream)


def _part_written(size_bytes: Expr, slower: Expr) -> Node:
    """Returns the step that writes `size_bytes` of a file to one primary store. While the store
    writes an object to its disk, it forwards the object's copies or fragments to other stores.
    `slower` is the factor by which disks are slower because the stores are used unevenly."""
    objects = named("objects", Max(1, ceiling(size_bytes / P.object_size)))
    object_bytes = size_bytes / objects
    fragment_bytes = object_bytes / P.data_fragments
    seeks = select(P.forced, FORCED_SEEKS, seeks_of(object_bytes))
    others = par(
        send(
            "osd",
            "subOperation",
            cpu("osd", P.object_cpu + fragment_bytes * P.store_byte_cpu, "storeCopy"),
            disk_write("osd", fragment_bytes * slower, "diskWriteCopy", seeks),
            size_bytes=fragment_bytes,
        ),
        copies=P.copies - 1,
    )
    stored = par(
        disk_write("osd", fragment_bytes * slower, "diskWrite", seeks),
        when(P.copies > 1, others),
        name="commit",
    )
    return pipeline(
        objects,
        cpu("client", _copied_s(object_bytes, Min(P.transfer_size, REQUEST_BYTES)), "copy"),
        send(
            "osd",
            "writeObject",
            cpu("osd", P.object_cpu + object_bytes * P.store_byte_cpu),
            size_bytes=object_bytes,
        ),
        stored,
        name="stream",
    )


# A client has only one call in flight in two cases: reads that are random or direct, and writes
# that are direct or synchronous.
calls = named("calls", Max(1, ceiling(P.file_size / Min(P.transfer_size, P.object_size))))
call_bytes = named("call_bytes", P.file_size / calls)
_acknowledged = at("osd", reply("client", size_bytes=128, name="acknowledged"))
_read_calls = repeat(calls, _part_read(call_bytes, expression(1)), reselect=True)
_write_calls = repeat(calls, _part_written(call_bytes, expression(1)), _acknowledged, reselect=True)

# A close is one FUSE request. If the file was written, the client then also sends the file's size,
# times and capabilities to the metadata server.
_close = seq(_requests(), name="close")
_flushed = later(call("mds", "capabilities", cpu("mds", P.update_cpu), request_bytes=512))
# Before the kernel opens, renames or removes a name, it looks the name up by a request. The
# client's process answers this request without the metadata server, because it knows the names.
_look_up = _requests()
_open = seq(_look_up, _ask("open", P.lookup_cpu), name="open")
_create = seq(_look_up, _ask("create", P.update_cpu), name="create")
_requested = either(P.scattered | P.direct, _read_calls, _spread(_part_read))
_held = cpu("client", P.file_size * (_request_s + P.client_byte_cpu), "copy")
_read = seq(either(_holds_data, _held, _requested), name="read")
_written = seq(either(P.direct | P.forced, _write_calls, _spread(_part_written)), name="write")
# The first object of a deleted file also stores the file's backtrace (its path). The metadata
# server removes this object after it has answered the client (purge queue).
_purged = later(
    call(
        "osd",
        "remove",
        cpu("osd", P.object_cpu),
        par(
            send("osd", "removeCopy", cpu("osd", P.object_cpu), size_bytes=256), copies=P.copies - 1
        ),
    )
)
_attributes = seq(_ask("getattr", P.lookup_cpu))
_entries_s = P.entries * P.client_entry_cpu

OPERATIONS = {
    "read": seq(_open, _read, _close),
    "write": seq(_create, _written, _close, _flushed),
    "append": seq(_open, _written, _close, _flushed),
    "create": seq(_create, _close),
    "stat": seq(either(knows_names, _requests(), _attributes), name="stat"),
    # A client that knows the names of a directory lists the directory without the metadata server.
    "list": seq(
        either(
            knows_names,
            _requests(2),
            seq(
                _attributes,
                _ask(
                    "readdir",
                    P.lookup_cpu + P.entries * P.entry_cpu,
                    response_bytes=300 * P.entries,
                ),
            ),
        ),
        cpu("client", _entries_s),
        name="list",
    ),
    "rename": seq(repeat(2, _look_up), _ask("rename", P.update_cpu), name="rename"),
    "delete": seq(_look_up, _ask("unlink", P.update_cpu), _purged, name="delete"),
}
