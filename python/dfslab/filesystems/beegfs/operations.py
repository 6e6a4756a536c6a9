"""Describes the operations of BeeGFS: calls to the metadata server, then transfers of chunks to or
from storage targets.

The client gathers the data of small calls in a buffer of `cache_buffer` bytes. One request
transfers a full buffer; a call that is larger than the buffer is a request of its size. The request
is complete when every target that stores a part of the requested range has answered. Targets answer
from their page cache. If chunks are mirrored, the primary target of a chunk forwards the chunk to
its buddy while the chunk is still arriving.
"""

from __future__ import annotations

from dfslab.filesystems.beegfs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, named, select
from dfslab.spec.steps.heads import FORCED_SEEKS, uncached_s
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    call,
    cpu,
    delay,
    disk_read,
    disk_use,
    either,
    hold_thread,
    later,
    par,
    pipeline,
    repeat,
    send,
    seq,
    striped,
    when,
)
from dfslab.spec.systems.parameters import symbol

# Direct and synchronous calls bypass the buffer.
unbuffered = P.direct | P.forced
unit_size = named(
    "unit_size", select(unbuffered, P.transfer_size, Max(P.transfer_size, P.cache_buffer))
)
requests = named("requests", Max(1, ceiling(P.file_size / unit_size)))
request_bytes = named("request_bytes", P.file_size / requests)
servers_per_call = named("servers_per_call", Min(P.stripe_count, ceiling(unit_size / P.chunk_size)))
# Number of rounds in which the disks transfer a file. In a round, each target's disk transfers one
# chunk or, if this is larger, the target's part of one request. With synchronous or direct calls,
# the disk always transfers the part of the request.
rounds = named(
    "rounds",
    select(
        P.forced | P.direct,
        requests,
        Max(1, ceiling(P.file_size / Max(unit_size, P.stripe_count * P.chunk_size))),
    ),
)
buddies = 1 + P.mirrored


def _ask(name: str, seconds: Expression, response_bytes: Expression = 256) -> Node:
    """Returns the step in which the client calls the metadata server of the directory. The call
    takes `seconds` of this server's processor time."""
    handled = hold_thread("metadata", P.worker_threads, cpu("metadata", seconds), name="handle")
    return seq(
        cpu("client", P.client_call_cpu),
        call("metadata", name, handled, response_bytes=response_bytes),
    )


def _ask_targets(name: str, *work: Node) -> Node:
    """Returns the step in which a small request is sent to every storage target of the file
    concurrently. For the request, a target uses the processor for `storage_cpu` and then does
    `work`."""
    return par(call("storage", name, cpu("storage", P.storage_cpu), *work), copies=P.stripe_count)


def _blocks(size_bytes: Expr) -> tuple[Expr, Expr]:
    """Returns two expressions for a target that moves `size_bytes` in blocks: the number of blocks,
    and the size of a block in bytes."""
    blocks = named("blocks", Max(1, ceiling(size_bytes / P.file_block)))
    return blocks, size_bytes / blocks


def _read_from(size_bytes: Expr) -> Node:
    """Returns the part of a read request that one target serves. The target sends `size_bytes`,
    block by block. The description assumes that the file's data on one target is one extent of the
    target's disk."""
    blocks, each = _blocks(size_bytes)
    access_s = uncached_s("storage", requests * blocks)
    seeks = select(P.scattered, 1 / blocks, 1 / (requests * blocks))
    uncached = either(
        P.direct,
        disk_use("storage", each, "read", access_s, "diskRead"),
        when(P.cold, disk_read("storage", each, "diskRead", seeks)),
    )
    stream = pipeline(
        blocks,
        seq(uncached, cpu("storage", each * P.storage_byte_cpu, "sendBlock")),
        send("client", "block", size_bytes=each),
        name="stream",
    )
    return call("storage", "read", cpu("storage", P.storage_cpu), stream)


def _write_to(size_bytes: Expr) -> Node:
    """Returns the part of a write request that one target serves. The target stores `size_bytes`,
    block by block. If chunks are mirrored, the target also forwards each block to its buddy, the
    target with the copy."""
    blocks, each = _blocks(size_bytes)
    store = cpu("storage", each * P.storage_byte_cpu, "storeBlock")
    stream = pipeline(
        blocks, repeat(buddies, send("storage", "block", store, size_bytes=each)), name="stream"
    )
    return seq(stream, call("storage", "write", cpu("storage", P.storage_cpu)))


# The disk writes of the chunks and of their copies on buddies are in one parallel step, so that the
# model uses a different disk for each of them.
round_bytes = named("round_bytes", P.file_size / rounds)
_seeks = select(P.scattered, requests / rounds, 1 / rounds)
_access_s = symbol("storage.disk_latency") * select(P.forced, FORCED_SEEKS, _seeks)
_disks = either(
    round_bytes > P.chunk_size,
    par(
        disk_use("storage", round_bytes / P.stripe_count, "write", _access_s),
        copies=P.stripe_count * buddies,
    ),
    par(disk_use("storage", round_bytes, "write", _access_s), copies=buddies),
)
_client = cpu("client", P.client_call_cpu + request_bytes * P.client_byte_cpu, "copy")
_open = seq(_ask("open", P.lookup_cpu), name="open")
_create = seq(_ask("create", P.update_cpu * buddies), name="create")
_close = seq(_ask("close", P.lookup_cpu), name="close")
# The disk writes of a round overlap with the sending of the next round: while the client sends one
# round of data, the targets' disks write the previous round. A synchronous call waits until the
# disks have written its data.
_sent = seq(
    repeat(
        requests / rounds,
        _client,
        striped(request_bytes, P.chunk_size, servers_per_call, _write_to),
    )
)
_in_turn = repeat(
    rounds, _sent, _disks, when(P.forced, _ask_targets("fsync", delay("storage", P.commit)))
)
_written = seq(
    either(
        P.forced | P.direct,
        _in_turn,
        pipeline(rounds, _sent, either(P.fsync, _disks, later(_disks, name="write-back"))),
    ),
    name="write",
)
_flush = when(
    P.fsync & ~P.forced, seq(_ask_targets("fsync", delay("storage", P.commit)), name="fsync")
)

OPERATIONS = {
    "read": seq(
        _open,
        repeat(
            requests,
            striped(request_bytes, P.chunk_size, servers_per_call, _read_from),
            _client,
            name="read",
        ),
        _close,
    ),
    "write": seq(_create, _written, _flush, _close),
    "append": seq(_open, _written, _flush, _close),
    "create": seq(_create, _close),
    # The metadata server stores the sizes of closed files, so a stat sends nothing to the targets.
    "stat": seq(_ask("stat", P.lookup_cpu), name="stat"),
    "list": seq(
        _ask(
            "listDirectory", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=64 * P.entries
        ),
        name="list",
    ),
    "rename": seq(_ask("rename", P.update_cpu * buddies), name="rename"),
    "delete": seq(
        _ask("unlink", P.update_cpu * buddies),
        later(_ask_targets("removeChunks"), name="removal"),
        name="delete",
    ),
}
