"""Operations of CephFS: names from the metadata server, objects straight from the stores.

A file's objects are spread over all stores by hashing, so a stream is `spread` equal parts, one a
store, made slower by the unevenness of few placement groups. The primary store of an object hands
copies (or fragments) on and answers when all are on disk.
"""

from __future__ import annotations

from sympy import Max, Min, ceiling, sqrt

from dfslab.filesystems.cephfs.facts import PARAMETERS as P
from dfslab.spec.operation import (
    Node,
    call,
    choice,
    cpu,
    disk_read,
    disk_write,
    par,
    pipeline,
    send,
    seq,
)
from dfslab.spec.parameters import symbol

stores = symbol("osd.instances")
objects = Max(1, ceiling(P.file_size / P.object_size), Min(
    P.stripe_count, ceiling(P.file_size / P.stripe_unit)))  # fmt: skip
spread = Min(objects, stores)
parts = Max(1, ceiling(objects / spread))
object_bytes = P.file_size / (spread * parts)
fragment_bytes = object_bytes / P.data_fragments
# Placement groups fall on stores like balls into bins: the fullest of n bins has about
# sqrt(2 ln n) standard deviations more than the mean; 1.2 stands for two to eight stores.
each_store = P.placement_groups * P.copies / stores
uneven = 1 + 1.2 * Min(1, stores - 1) * sqrt(Max(0, 1 - P.copies / stores) / each_store) * Min(
    1, spread - 1)  # fmt: skip


def _ask(name: str, seconds, response_bytes=512) -> Node:
    """One request to the metadata server, which journals later."""
    return seq(
        cpu("client", P.client_call_cpu),
        call("mds", name, cpu("mds", seconds), request_bytes=512, response_bytes=response_bytes),
    )


_part_read = call(
    "osd",
    "read",
    pipeline(
        parts,
        seq(
            choice((P.cold, disk_read("osd", object_bytes * uneven, "diskRead"))),
            cpu("osd", P.object_cpu + object_bytes * P.store_byte_cpu, "readObject"),
        ),
        send("client", "object", size_bytes=object_bytes),
        cpu("client", object_bytes * P.client_byte_cpu, "copy"),
        name="stream",
    ),
)

# The primary's own share and those that it hands on are written at the same time.
_others = par(
    send(
        "osd",
        "subOperation",
        cpu("osd", P.object_cpu + fragment_bytes * P.store_byte_cpu, "storeCopy"),
        disk_write("osd", fragment_bytes * uneven, "diskWriteCopy"),
        size_bytes=fragment_bytes,
    ),
    copies=P.copies - 1,
)
_stored = par(
    disk_write("osd", fragment_bytes * uneven, "diskWrite"),
    choice((Min(1, P.copies - 1), _others)),
    name="commit",
)

_part_written = pipeline(
    parts,
    cpu("client", object_bytes * P.client_byte_cpu, "copy"),
    send("osd", "writeObject", cpu("osd", P.object_cpu + object_bytes * P.store_byte_cpu),
         size_bytes=object_bytes),
    _stored,
    name="stream",
)  # fmt: skip

_open = seq(_ask("open", P.lookup_cpu), name="open")
_create = seq(_ask("create", P.update_cpu), name="create")
_written = seq(par(_part_written, copies=spread), name="write")

OPERATIONS = {
    "read": seq(_open, seq(par(_part_read, copies=spread), name="read")),
    "write": seq(_create, _written),
    "append": seq(_open, _written),
    "create": _create,
    "stat": seq(_ask("getattr", P.lookup_cpu), name="stat"),
    "list": seq(
        _ask("readdir", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=300 * P.entries),
        name="list",
    ),
    "rename": seq(_ask("rename", P.update_cpu), name="rename"),
    "delete": seq(_ask("unlink", P.update_cpu), name="delete"),
}  # fmt: skip
