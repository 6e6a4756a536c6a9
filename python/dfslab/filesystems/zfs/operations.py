"""Describes the operations of ZFS: calls that use the cache (ARC), records split over disks, an
intent log for fsync.

A record is stored on one vdev: on all disks of a mirror, or split over a raidz with its parity, in
parts of at least a sector. Many records use all vdevs concurrently. Written records go to disk with
their transaction group, after the answer. fsync first writes the data to the intent log (ZIL).
"""

from __future__ import annotations

from collections.abc import Callable

from dfslab.filesystems.zfs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, ceiling, expression, named
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
# Neighbouring records reach a disk as one request, up to the aggregation limit.
rounds = named("rounds", Max(1, ceiling(P.file_size / (P.vdevs * P.data_disks * P.aggregation))))
round_bytes = named("round_bytes", P.file_size / rounds)
uncached = P.direct | P.cold


def _client(seconds: Expression, name: str) -> Use:
    return cpu("client", seconds, name)


def _on_disks(request: Callable[[Expr], Use], copies: Expr, extra: Expr) -> Node:
    """Moves a round of records at its disks: one sector, one record on one vdev, or many records on
    all vdevs. `request(size)` is the step at one disk.

    `copies` of all data are moved, and `extra` disks take part for each split record.
    """
    record = par(request(round_bytes / P.data_disks), copies=copies * (P.data_disks + extra))
    all_vdevs = par(
        request(round_bytes / (P.data_disks * P.vdevs)),
        copies=copies * P.vdevs * (P.data_disks + extra),
    )
    one_sector = par(request(P.sector_size), copies=copies * (1 + extra))
    cut = either(P.file_size > P.record_size, all_vdevs, record)
    return either(P.file_size > P.sector_size, cut, one_sector)


# A mirror reads from one of its disks, a raidz from its data disks; prefetch overlaps checksums.
_read_disks = _on_disks(
    lambda size: disk_read("pool", size, "diskRead"), expression(1), expression(0)
)
_write_disks = _on_disks(
    lambda size: disk_write("pool", size, "diskWrite"), P.mirrors, P.parity_disks
)
_checksum = _client(round_bytes * P.checksum_byte_cpu, "checksum")
_copied = repeat(calls, _client(P.call_cpu + call_bytes * P.copy_byte_cpu, "copy"))
_group = pipeline(rounds, _checksum, _write_disks, name="transactionGroup")

_open = seq(_client(P.open_cpu, ""), name="open")
_close = seq(_client(P.close_cpu, ""), name="close")
_create = seq(_client(P.open_cpu + P.update_cpu, ""), name="create")
_read = seq(
    when(uncached, pipeline(rounds, _read_disks, _checksum, name="fetch")), _copied, name="read"
)
_written = seq(_copied, either(P.direct, _group, later(_group)), name="write")
# The separate log device handles one commit at a time.
_log_on_its_own = hold_thread(
    "pool", 1, delay("pool", P.log_latency + P.file_size / P.log_rate), name="separateLog"
)
_fsync = when(
    P.fsync,
    seq(
        either(P.separate_log, _log_on_its_own, when(~P.direct, pipeline(rounds, _write_disks))),
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
