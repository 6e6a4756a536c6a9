"""Operations of CephFS: names at the metadata server, objects at OSDs that copy them on.

The client sends an object once, to its primary OSD, which stores its own part and sends the others
theirs: copy r is (1, r), erasure code k + m is (k, k + m). BlueStore writes to the disk, not to the
page cache, and all parts are on disk before the primary answers. Objects are placed by hashing, so
a file of many objects meets all OSDs, and the fullest of them decides.
"""

from __future__ import annotations

from sympy import Expr, Max, Min, ceiling

from dfslab.filesystems.cephfs.facts import PARAMETERS as P
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
    striped,
)
from dfslab.spec.parameters import symbol

osds = symbol("osd.instances")
# Up to here a file lies in one object: a whole one, or a stripe unit where files are striped.
in_one = P.stripe_unit + (P.object_size - P.stripe_unit) * Max(0, 2 - P.stripe_count)
over = Min(1, Max(0, ceiling(P.file_size / P.max_dirty) - 1))
held = Min(P.file_size, P.max_dirty)


def _ask(name: str, seconds, *, writes: bool = False, response_bytes=512) -> Node:
    """A call to the metadata server, which answers a change before its journal is on disk."""
    return seq(
        cpu("client", P.client_call_cpu),
        call("mds", name, cpu("mds", seconds), request_bytes=512, response_bytes=response_bytes),
        *((later(_journal, name="journal"),) if writes else ()),
    )


def _stored(size_bytes) -> Node:
    """An object's part on disk, with the entry in BlueStore's log that makes it durable."""
    on_disk = P.imbalance * size_bytes + P.commit_bytes
    return disk_write("osd", on_disk, "diskWrite")


def _others(size_bytes) -> Node:
    """The parts that the primary sends to the other OSDs, all of which must answer."""
    part = call("osd", "subOperation", cpu("osd", P.object_cpu + size_bytes * P.osd_byte_cpu),
                _stored(size_bytes), request_bytes=size_bytes)  # fmt: skip
    return choice((Min(1, P.copies - 1), par(part, copies=Max(1, P.copies - 1))))


def _on_all(size_bytes) -> Node:
    """An object on its primary and on the others at once."""
    return par(_stored(size_bytes), _others(size_bytes))


_journal = call("osd", "journal", _on_all(P.journal_bytes), request_bytes=P.journal_bytes)


def _objects(size_bytes: Expr) -> tuple[Expr, Expr]:
    """(number, bytes) of the object requests that carry `size_bytes`."""
    objects = Max(1, ceiling(size_bytes / P.object_size))
    return objects, size_bytes / objects


def _write_objects(size_bytes: Expr) -> Node:
    """One of the streams of objects that a client keeps in flight, one for each OSD."""
    objects, each = _objects(size_bytes)
    return pipeline(
        objects,
        cpu("client", each * P.client_byte_cpu, "sendObject"),
        send("osd", "writeObject", cpu("osd", P.object_cpu + each * P.osd_byte_cpu),
             size_bytes=each),
        _on_all(each / P.data_fragments),
        name="objects",
    )  # fmt: skip


def _read_objects(size_bytes: Expr) -> Node:
    """One of the streams that read-ahead keeps in flight."""
    objects, each = _objects(size_bytes)
    stored = disk_read("osd", P.imbalance * each, "diskRead")
    stream = pipeline(
        objects,
        seq(choice((P.cold, stored)), cpu("osd", P.object_cpu + each * P.osd_byte_cpu, "read")),
        send("client", "object", size_bytes=each),
        cpu("client", each * P.client_byte_cpu, "receiveObject"),
        name="stream",
    )
    return call("osd", "readObject", stream)


def _flushed(size_bytes: Expr) -> Node:
    return striped(size_bytes, in_one, osds, _write_objects)


# Written bytes are copied to the client's cache; what it may not hold is waited for, and fsync
# waits for all and for the metadata server's journal.
_write = seq(
    cpu("client", P.file_size * P.client_byte_cpu, "cache"),
    choice(((1 - P.fsync) * over, _flushed(P.file_size - held))),
    name="write",
)
_fsync = choice(
    (P.fsync, seq(_flushed(P.file_size), call("mds", "flush", _journal), name="fsync")),
    (1 - P.fsync, later(_flushed(held), name="write-back")),
)

# Capabilities let the client answer for names in a directory it holds, so create and unlink need
# no lookup; a file's own attributes are asked for.
_lookup = _ask("lookup", P.lookup_cpu)
_open = seq(_ask("open", P.lookup_cpu), name="open")
_create = seq(_ask("create", P.update_cpu, writes=True), name="create")
_reads_at_once = Min(osds, P.read_ahead_periods * P.stripe_count)

OPERATIONS = {
    "read": seq(
        _open,
        seq(striped(P.file_size, in_one, _reads_at_once, _read_objects), name="read"),
    ),
    "write": seq(_create, _write, _fsync),
    "append": seq(_open, _write, _fsync),
    "create": _create,
    "stat": seq(_lookup, name="stat"),
    "list": seq(
        _ask("readdir", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=512 * P.entries),
        name="list",
    ),
    "rename": seq(_lookup, _ask("rename", P.update_cpu, writes=True), name="rename"),
    "delete": seq(_ask("unlink", P.update_cpu, writes=True), name="delete"),
}
