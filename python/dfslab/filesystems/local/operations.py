"""Describes the operations of a local directory: system calls, copies from and to the page cache,
and the disk.
"""

from __future__ import annotations

from dfslab.filesystems.local.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, select
from dfslab.spec.steps.heads import FORCED_SEEKS, seeks_of, seeks_of_unit, uncached_s
from dfslab.spec.steps.operation import (
    Node,
    cpu,
    delay,
    disk_use,
    disk_write,
    either,
    later,
    repeat,
    seq,
    when,
)
from dfslab.spec.systems.parameters import symbol

calls = ceiling(P.file_size / P.transfer_size)
call_bytes = Min(P.transfer_size, P.file_size)
uncached = P.direct | P.cold


access_s = select(
    P.direct,
    uncached_s("storage", calls),
    seeks_of_unit(Max(1, calls), call_bytes) * symbol("storage.disk_latency"),
)


def _waited(mode: str) -> Node:
    """Returns the step of a synchronous disk request. `mode` is "read" or "write". Only the share
    `occupied` of the disk's latency occupies the disk. The remaining latency is a delay before the
    request."""
    delayed: Expr = Max(0, 1 - P.occupied) * access_s
    return seq(
        delay("storage", delayed), disk_use("storage", call_bytes, mode, P.occupied * access_s)
    )


_open = seq(cpu("client", P.open_cpu), name="open")
_close = seq(cpu("client", P.close_cpu), name="close")

_read = repeat(
    calls,
    cpu("client", P.call_cpu + select(P.direct, 0, call_bytes * P.read_byte_cpu)),
    when(uncached, _waited("read")),
    name="read",
)

_written = repeat(
    calls,
    cpu("client", P.call_cpu + select(P.direct, 0, call_bytes * P.write_byte_cpu)),
    either(
        P.forced,
        seq(
            disk_write("storage", call_bytes, seeks=FORCED_SEEKS),
            delay("storage", P.fsync_delay, "commit"),
        ),
        when(P.direct, _waited("write")),
    ),
    name="write",
)

_stored = disk_write("storage", P.file_size, seeks=seeks_of(P.file_size))
_fsync = when(
    ~P.forced,
    either(
        P.fsync,
        seq(when(~P.direct, _stored), delay("storage", P.fsync_delay), name="fsync"),
        when(~P.direct, later(_stored, name="write-back")),
    ),
)

OPERATIONS = {
    "read": seq(_open, _read, _close),
    "write": seq(seq(cpu("client", P.create_cpu), name="create"), _written, _fsync, _close),
    "append": seq(_open, _written, _fsync, _close),
    "create": seq(seq(cpu("client", P.create_cpu), name="create"), _close),
    "stat": seq(cpu("client", P.stat_cpu), name="stat"),
    "list": seq(cpu("client", P.open_cpu + P.entries * P.entry_cpu), name="list"),
    "rename": seq(cpu("client", P.rename_cpu), name="rename"),
    "delete": seq(cpu("client", P.delete_cpu), name="delete"),
}
