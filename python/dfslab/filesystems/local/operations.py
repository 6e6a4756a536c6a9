"""Describes the operations of a local directory: system calls, copies from and to the page cache,
and the disk.
"""

from __future__ import annotations

from dfslab.filesystems.local.facts import PARAMETERS as P
from dfslab.filesystems.local.requests import ROLE, call_bytes, calls, is_measured, rate, waited
from dfslab.spec.steps.expression import Expr, Max, Min, select
from dfslab.spec.steps.heads import FORCED_SEEKS
from dfslab.spec.steps.operation import (
    Node,
    cpu,
    delay,
    disk_use,
    disk_write,
    either,
    hold_thread,
    later,
    repeat,
    seq,
    when,
)
from dfslab.spec.systems.parameters import symbol

uncached = P.direct | P.cold


def _changed(name: str, cpu_s: Expr, shared: str) -> Node:
    """Returns the step that changes a directory.

    `cpu_s` is the processor time in seconds of a change by a single stream. `shared` is the symbol
    of the rate of changes by many streams. If this rate was not measured (symbol 0), the step needs
    only `cpu_s` of the processor.

    If the rate was measured, a stream holds the locks of the journal and of inode tables for
    `alone_s` seconds of the processor time. Only one stream can hold these locks at a time. The
    value of `alone_s` depends on the number of clients:
    - Several clients: `alone_s` is 1 / rate. `alone_s` may exceed `cpu_s`, because streams compete
      for the locks.
    - One client: `alone_s` is min(cpu_s, 1 / rate).

    The other max(0, cpu_s - alone_s) seconds need no lock.
    """
    limiting_s = 1 / rate(shared)
    alone_s = select(P.clients > 1, limiting_s, Min(cpu_s, limiting_s))
    locked = seq(
        cpu("client", Max(0, cpu_s - alone_s)), hold_thread(ROLE, 1, cpu("client", alone_s))
    )
    return seq(either(symbol(shared) > 0, locked, cpu("client", cpu_s)), name=name)


def _forced(size_bytes: Expr, seeks: Expr | int) -> Node:
    """Returns the step that forces `size_bytes` of new data and the journal to disk.

    If the machine's profile has the rates of commits, two times are computed from the profile:
    - `busy_s` = max(1 / commits + size / commits_rate, size / disk_write_rate) is the time per
      fsync if many streams call fsync. One commit of the journal then serves several fsyncs.
    - `alone_s` = fsync_delay + size / commit_rate is the time of an fsync of a single stream.
      `alone_s` is usually longer than `busy_s`.

    The step occupies the disk for `busy_s`. The step also waits for max(0, alone_s - busy_s)
    without occupying the disk.

    Without a profile, the data is first written, which occupies the disk. Then the journal is
    committed, which takes fsync_delay and does not occupy the disk.
    """
    rates = (rate(f"{ROLE}.{key}") for key in ("commits", "commits_rate", "commit_rate"))
    commits, commits_rate, commit_rate = rates
    transfer_s = size_bytes / symbol(f"{ROLE}.disk_write_rate")
    busy_s: Expr = Max(1 / commits + size_bytes / commits_rate, transfer_s)
    alone_s = P.fsync_delay + size_bytes / commit_rate
    shared = seq(
        delay(ROLE, Max(0, alone_s - busy_s), "commit"),
        disk_use(ROLE, size_bytes, "write", busy_s - transfer_s),
    )
    assumed = seq(disk_write(ROLE, size_bytes, seeks=seeks), delay(ROLE, P.fsync_delay, "commit"))
    return either(symbol(f"{ROLE}.commits") > 0, shared, assumed)


_open = seq(cpu("client", P.open_cpu), name="open")
_close = seq(cpu("client", P.close_cpu), name="close")
_create = _changed("create", P.create_cpu, f"{ROLE}.creates")
_delete = _changed("delete", P.delete_cpu, f"{ROLE}.deletes")

# When a client's first read fills its buffer, the kernel allocates and clears the pages of the
# buffer.
_touched = when(
    symbol("client.touch_rate") > 0,
    cpu("client", P.first * call_bytes / rate("client.touch_rate"), name="page_fault"),
)
_read = repeat(
    calls,
    cpu("client", P.call_cpu + select(P.direct, 0, call_bytes * P.read_byte_cpu)),
    when(uncached, waited("read")),
    name="read",
)

# A write call looks up or allocates pages of the page cache, so it takes longer than a read call.
_write_call_s = select(symbol("client.write_call") > 0, symbol("client.write_call"), P.call_cpu)
_written = repeat(
    calls,
    cpu("client", _write_call_s + select(P.direct, 0, call_bytes * P.write_byte_cpu)),
    either(P.forced, _forced(call_bytes, FORCED_SEEKS), when(P.direct, waited("write"))),
    name="write",
)

# A write call on pages that are in the cache needs no new pages. If such calls were not measured,
# they cost as much as calls that write new pages.
_over_call_s = select(
    symbol("client.overwrite_call") > 0, symbol("client.overwrite_call"), _write_call_s
)
_over_byte_s = select(
    symbol("client.overwrite_rate") > 0, 1 / rate("client.overwrite_rate"), P.write_byte_cpu
)
_overwritten = repeat(
    calls,
    cpu("client", _over_call_s + select(P.direct, 0, call_bytes * _over_byte_s)),
    either(P.forced, _forced(call_bytes, FORCED_SEEKS), when(P.direct, waited("write"))),
    name="write",
)

# All pages of a file that was written whole are contiguous, in whatever order they were written.
_stored = disk_write(ROLE, P.file_size, seeks=select(is_measured, 0, 1))
_fsync = when(
    ~P.forced,
    either(
        P.fsync,
        seq(either(P.direct, _forced(0 * P.file_size, 0), _forced(P.file_size, 1)), name="fsync"),
        when(~P.direct, later(_stored, name="write-back")),
    ),
)

OPERATIONS = {
    "read": seq(_open, _touched, _read, _close),
    "write": seq(_create, _written, _fsync, _close),
    "append": seq(_open, _written, _fsync, _close),
    "overwrite": seq(_open, _overwritten, _fsync, _close),
    "create": seq(_create, _close),
    "stat": seq(cpu("client", P.stat_cpu), name="stat"),
    "list": seq(cpu("client", P.open_cpu + P.entries * P.entry_cpu), name="list"),
    "rename": seq(cpu("client", P.rename_cpu), name="rename"),
    "delete": _delete,
}
