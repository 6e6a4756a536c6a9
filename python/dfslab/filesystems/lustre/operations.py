"""Describes the operations of Lustre: locks with intents at the metadata server, bulk RPCs to
striped targets.

To open, create or stat a file, the client sends one lock request, which contains the operation as
its intent. Data is transferred between client and targets under extent locks. The locks are granted
without waiting, because lock conflicts between clients are not modelled. For each target, up to
`max_dirty` bytes of written data stay in the client's cache and are sent later. A file of at most
one stripe uses one target. A larger file uses `stripe_count` targets.
"""

from __future__ import annotations

from collections.abc import Callable

from dfslab.filesystems.lustre.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, named, select
from dfslab.spec.steps.heads import FORCED_SEEKS, seeks_of_unit
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    at,
    call,
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
    reply,
    send,
    seq,
    when,
)

uncached = P.cold | P.direct
several = P.file_size > P.stripe_size
# `absorbed_bytes` is the part of a written file that stays in the client's cache. The write call
# does not wait until the targets have this part. This part is 0 if the data is forced to disk, or
# if the client does not use its cache (direct I/O).
cache_bytes = P.max_dirty * select(several, P.stripe_count, 1)
absorbed_bytes = named(
    "absorbed_bytes", select(P.fsync | P.forced | P.direct, 0, Min(P.file_size, cache_bytes))
)
streamed_bytes = named("streamed_bytes", P.file_size - absorbed_bytes)
# Seconds that each RPC of a stream waits for the network. During one round trip, up to
# `max_rpcs_in_flight` RPCs are in flight. Each RPC therefore waits for 1 / max_rpcs_in_flight of a
# round trip.
window_s = 2 * P.network_latency / P.max_rpcs_in_flight


def _striped(size_bytes: Expr, on_target: Callable[[Expr], Node]) -> Node:
    """Returns the step in which the targets of a file work on `size_bytes` of the file.

    If the file has several stripes, all its targets work concurrently, each on an equal part of the
    bytes. Otherwise, one target works on all bytes. `on_target(size)` returns the step in which one
    target works on `size` bytes.
    """
    spread = par(on_target(size_bytes / P.stripe_count), copies=P.stripe_count)
    return either(several, spread, on_target(size_bytes))


def _intent(name: str, seconds: Expression, response_bytes: Expression = 512) -> Node:
    """Returns the step that sends a lock request with an intent to the metadata server. The request
    needs `seconds` of the server's processor, and the answer has `response_bytes`. The answer comes
    from memory; the journal is written later."""
    handled = hold_thread("mds", P.mds_threads, cpu("mds", seconds), name="handle")
    return seq(
        cpu("client", P.client_call_cpu),
        call("mds", name, handled, request_bytes=512, response_bytes=response_bytes),
    )


def _ask_targets(name: str, *work: Node) -> Node:
    """Returns the step that sends a small request to every target of the file concurrently. `work`
    is a target's work for the request in addition to its constant processor time."""
    return par(call("oss", name, cpu("oss", P.lock_cpu), *work), copies=P.stripe_count)


def _read_from(size_bytes: Expr, seeks: Expr | None = None) -> Node:
    """Returns the step that reads `size_bytes` from one target. The client reads ahead, so disk,
    network and client work at the same time.

    `seeks` is how often the disk's head is positioned for `size_bytes`. If it is None, the number
    is derived from the access pattern.
    """
    rpcs = named("rpcs", Max(1, ceiling(size_bytes / P.rpc_size)))
    each = size_bytes / rpcs
    seeks = seeks_of_unit(rpcs, each) if seeks is None else seeks / rpcs
    stream = pipeline(
        rpcs,
        delay("client", window_s, "window"),
        seq(
            when(uncached, disk_read("oss", each, "diskRead", seeks)),
            cpu("oss", P.rpc_cpu + each * P.target_byte_cpu, "bulkRead"),
        ),
        send("client", "bulk", size_bytes=each),
        cpu("client", each * P.client_byte_cpu, "copy"),
        name="stream",
    )
    return call("oss", "read", stream)


def _write_to(size_bytes: Expr, seeks: Expr | None = None) -> Node:
    """Returns the step that writes `size_bytes` to one target. The target answers a bulk RPC when
    its disk has the data.

    `seeks` is how often the disk's head is positioned for `size_bytes`. If it is None, the number
    is derived from the access pattern.
    """
    rpcs = named("rpcs", Max(1, ceiling(size_bytes / P.rpc_size)))
    each = size_bytes / rpcs
    seeks = seeks_of_unit(rpcs, each) if seeks is None else seeks / rpcs
    return pipeline(
        rpcs,
        seq(delay("client", window_s, "window"), cpu("client", each * P.client_byte_cpu, "copy")),
        send(
            "oss",
            "bulk",
            cpu("oss", P.rpc_cpu + each * P.target_byte_cpu, "bulkWrite"),
            size_bytes=each,
        ),
        disk_write("oss", each, "diskWrite", seeks),
        name="stream",
    )


_open = seq(_intent("openIntent", P.intent_cpu), name="open")
_create = seq(_intent("createIntent", P.update_cpu), name="create")
_close = seq(_intent("close", P.intent_cpu), name="close")
_lock = seq(cpu("client", P.client_call_cpu), _ask_targets("enqueue"), name="lock")
# Without the client's cache, or with random access, the client sends a call only after the previous
# one was answered. `calls` is the number of calls for a file, and `call_bytes` is the size of each.
# A call has at most the bytes of one stripe, so only one target handles it.
calls = named("calls", Max(1, ceiling(P.file_size / Min(P.transfer_size, P.stripe_size))))
call_bytes = named("call_bytes", P.file_size / calls)
_commit = when(P.forced, _ask_targets("sync", delay("oss", P.commit)))
_call_seeks = select(P.scattered, 1, 1 / calls)
_write_calls = repeat(
    calls,
    _write_to(call_bytes, select(P.forced, FORCED_SEEKS, _call_seeks)),
    at("oss", reply("client", size_bytes=256, name="written")),
    _commit,
)
_read_calls = repeat(calls, _read_from(call_bytes, _call_seeks))
_buffered = seq(
    cpu("client", absorbed_bytes * P.client_byte_cpu, "cache"),
    when(streamed_bytes > 0, _striped(streamed_bytes, _write_to)),
    when(absorbed_bytes > 0, later(_striped(absorbed_bytes, _write_to), name="write-back")),
)
_written = seq(either(P.direct | P.forced, _write_calls, _buffered), name="write")
_read = seq(
    either(P.scattered | P.direct, _read_calls, _striped(P.file_size, _read_from)), name="read"
)
_flush = when(P.fsync & ~P.forced, seq(_ask_targets("sync", delay("oss", P.commit)), name="fsync"))

OPERATIONS = {
    "read": seq(_open, _lock, _read, _close),
    "write": seq(_create, _lock, _written, _flush, _close),
    "append": seq(_open, _lock, _written, _flush, _close),
    "create": seq(_create, _close),
    # The targets know the file's size. A glimpse requests it without revoking the extent lock.
    "stat": seq(_intent("getattrIntent", P.intent_cpu), _ask_targets("glimpse"), name="stat"),
    "list": seq(
        _intent(
            "readdir", P.intent_cpu + P.entries * P.entry_cpu, response_bytes=512 + 64 * P.entries
        ),
        name="list",
    ),
    "rename": seq(_intent("rename", 2 * P.update_cpu), name="rename"),
    "delete": seq(
        _intent("unlink", P.update_cpu),
        later(_ask_targets("destroy"), name="destroy"),
        name="delete",
    ),
}
