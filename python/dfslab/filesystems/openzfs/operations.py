"""Describes the operations of OpenZFS: calls that use the cache (ARC), records split over disks, an
intent log for fsync.

A record is stored on one vdev. A mirror stores the record on all its disks. A raidz splits the
record and its parity over its disks, in parts of at least a sector. Several records use all vdevs
concurrently. A buffered write call is answered from memory. Its records are written to disk later,
as part of their transaction group. fsync writes the data to the intent log (ZIL) and waits until
the log has the data.
"""

from __future__ import annotations

from collections.abc import Callable

from dfslab.filesystems.openzfs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, expression, named
from dfslab.spec.steps.heads import FORCED_SEEKS
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    Use,
    cpu,
    delay,
    disk_read,
    disk_write,
    either,
    hold_thread,
    later,
    par,
    pipeline,
    repeat,
    seq,
    when,
)

calls = named("calls", Max(1, ceiling(P.file_size / P.transfer_size)))
call_bytes = named("call_bytes", P.file_size / calls)
# A file is read or written in `rounds` rounds of `round_bytes` each. In one round, every disk
# handles one request. The request covers neighbouring records of at most `aggregation` bytes in
# all.
rounds = named("rounds", Max(1, ceiling(P.file_size / (P.vdevs * P.data_disks * P.aggregation))))
round_bytes = named("round_bytes", P.file_size / rounds)
uncached = P.direct | P.cold


def _client(seconds: Expression, name: str) -> Use:
    return cpu("client", seconds, name)


def _on_disks(
    request: Callable[[Expr], Use], size_bytes: Expr, all_bytes: Expr, copies: Expr, extra: Expr
) -> Node:
    """Returns the disk work of one round, in which `size_bytes` of an access to `all_bytes` are
    moved.

    An access of at most a sector uses one sector. An access of at most a record uses one record on
    one vdev. A larger access uses records on all vdevs. `copies` is the number of copies of the
    data that are moved. `extra` is the number of additional disks of each split record, which hold
    parity. `request(size)` returns the work of one disk for `size` bytes.
    """
    record = par(request(size_bytes / P.data_disks), copies=copies * (P.data_disks + extra))
    all_vdevs = par(
        request(size_bytes / (P.data_disks * P.vdevs)),
        copies=copies * P.vdevs * (P.data_disks + extra),
    )
    one_sector = par(request(P.sector_size), copies=copies * (1 + extra))
    cut = either(all_bytes > P.record_size, all_vdevs, record)
    return either(all_bytes > P.sector_size, cut, one_sector)


def _read_from(size_bytes: Expr, all_bytes: Expr, seeks: Expr) -> Node:
    """Returns the disk work that reads `size_bytes`.

    The bytes come from one disk of a mirror, or from the data disks of a raidz. `all_bytes` is the
    number of bytes of the whole access. `seeks` is how often each disk positions its head for
    `size_bytes`.
    """
    return _on_disks(
        lambda size: disk_read("pool", size, "diskRead", seeks),
        size_bytes,
        all_bytes,
        expression(1),
        expression(0),
    )


def _write_to(size_bytes: Expr, all_bytes: Expr, seeks: Expr) -> Node:
    """Returns the disk work that writes `size_bytes`.

    The bytes go to all disks of a mirror, or to the data and parity disks of a raidz. `all_bytes`
    is the number of bytes of the whole access. `seeks` is how often each disk positions its head
    for `size_bytes`.
    """
    return _on_disks(
        lambda size: disk_write("pool", size, "diskWrite", seeks),
        size_bytes,
        all_bytes,
        P.mirrors,
        P.parity_disks,
    )


# Records that are written one after another are neighbours on their disks. Each disk therefore
# positions its head only once for all of them.
_read_disks = _read_from(round_bytes, P.file_size, 1 / rounds)
_write_disks = _write_to(round_bytes, P.file_size, 1 / rounds)
# With random access, every call reads whole records from the disks, and nothing is prefetched. A
# call that requests less than a record therefore reads more bytes than it returns: `_record_bytes`.
_record_bytes = Max(call_bytes, Min(P.record_size, P.file_size))
_read_calls = repeat(
    calls,
    _read_from(_record_bytes, _record_bytes, expression(1)),
    cpu("client", _record_bytes * P.checksum_byte_cpu, "checksum"),
)
_checksum = _client(round_bytes * P.checksum_byte_cpu, "checksum")
_copied = repeat(calls, _client(P.call_cpu + call_bytes * P.copy_byte_cpu, "copy"))
_group = pipeline(rounds, _checksum, _write_disks, name="transactionGroup")

_open = seq(_client(P.open_cpu, ""), name="open")
_close = seq(_client(P.close_cpu, ""), name="close")
_create = seq(_client(P.open_cpu + P.update_cpu, ""), name="create")
_read = seq(
    when(
        uncached,
        either(P.scattered, _read_calls, pipeline(rounds, _read_disks, _checksum, name="fetch")),
    ),
    _copied,
    name="read",
)


def _log_on_its_own(size_bytes: Expr) -> Node:
    """Returns the step that commits a write of `size_bytes` to a separate log device. The device
    handles one commit at a time."""
    seconds = P.log_latency + size_bytes / P.log_rate
    return hold_thread("pool", 1, delay("pool", seconds), name="separateLog")


# A synchronous write call waits until the intent log has its data.
_forced_calls = repeat(
    calls,
    _client(P.call_cpu + call_bytes * P.copy_byte_cpu, "copy"),
    either(
        P.separate_log, _log_on_its_own(call_bytes), _write_to(call_bytes, call_bytes, FORCED_SEEKS)
    ),
    delay("pool", P.flush, "flush"),
)
_written = seq(
    either(P.forced, _forced_calls, _copied), either(P.direct, _group, later(_group)), name="write"
)
_fsync = when(
    P.fsync & ~P.forced,
    seq(
        either(
            P.separate_log,
            _log_on_its_own(P.file_size),
            when(~P.direct, pipeline(rounds, _write_disks)),
        ),
        delay("pool", P.flush, "flush"),
        name="fsync",
    ),
)

OPERATIONS = {
    "read": seq(_open, _read, _close),
    "write": seq(_create, _written, _fsync, _close),
    "append": seq(_open, _written, _fsync, _close),
    "create": seq(_create, _close),
    "stat": seq(_client(P.stat_cpu, ""), name="stat"),
    "list": seq(_client(P.open_cpu + P.entries * P.entry_cpu, ""), name="list"),
    "rename": seq(_client(P.update_cpu, ""), name="rename"),
    "delete": seq(_client(P.update_cpu, ""), name="delete"),
}
