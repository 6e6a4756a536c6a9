"""Describes the operations of zFS after Rodeh and Teperman 2003: leases, a cooperative cache,
object disks, distributed transactions.

A front end requests bytes of a file, with a lease on these bytes, from the file's manager. The file
manager itself has a lease on the whole object, granted by the lease manager of the object disk. If
another machine has the bytes in its memory, the file manager makes that machine send them.
Otherwise, the object disk sends them. Operations on directories are transactions: a transaction
server locks the objects, logs the changes on an object disk, and makes the changes.
"""

from __future__ import annotations

from dfslab.filesystems.zfs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, expression, named, select
from dfslab.spec.steps.heads import FORCED_SEEKS, seeks_of, seeks_of_unit
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    call,
    choice,
    cpu,
    disk_read,
    disk_write,
    either,
    hold_thread,
    later,
    par,
    pipeline,
    repeat,
    send,
    seq,
    when,
)

requests = named(
    "requests", Max(1, ceiling(P.file_size / select(P.scattered, P.transfer_size, P.request_size)))
)
request_bytes = named("request_bytes", P.file_size / requests)
absorbed_bytes = named("absorbed_bytes", Min(P.file_size, P.max_dirty))
# The divisor is at least 1 B, because the requests of an empty file, as in metadata workloads, have
# 0 B.
streamed_requests = named(
    "streamed_requests", ceiling((P.file_size - absorbed_bytes) / Max(1, request_bytes))
)
packets = named("packets", Max(1, ceiling(request_bytes / P.packet_size)))
packet_bytes = named("packet_bytes", request_bytes / packets)
ENTRY_BYTES = 100


def _managed(role: str, seconds: Expression) -> Node:
    """Returns the step in which a manager works for `seconds` seconds of processor time. The step
    occupies one of the manager's threads."""
    return hold_thread(role, P.manager_threads, cpu(role, seconds), name="handle")


_disk_lease = choice(
    (P.disk_lease_misses, call("object_disk", "majorLease", cpu("object_disk", P.object_cpu)))
)
_object_lease = choice(
    (
        P.object_lease_misses,
        call("lease_manager", "objectLease", _managed("lease_manager", P.lease_cpu), _disk_lease),
    )
)


def _ask(name: str, *work: Node, response_bytes: Expression = 256) -> Node:
    """Returns the step in which the client calls the file manager of a file. The file manager
    grants a lease, does `work`, and answers with `response_bytes`."""
    return seq(
        cpu("client", P.client_call_cpu),
        call(
            "file_manager",
            name,
            _managed("file_manager", P.lease_cpu),
            *work,
            response_bytes=response_bytes,
        ),
    )


def _stream(sender: str) -> Node:
    """Returns the step in which the role `sender` sends the bytes of one request to the client in
    packets."""
    return pipeline(
        packets,
        cpu(sender, packet_bytes * P.sender_byte_cpu, "send"),
        send("client", "data", size_bytes=packet_bytes),
        cpu("client", packet_bytes * P.client_byte_cpu, "receive"),
        name="stream",
    )


_from_memory = send(
    "cache", "forward", cpu("cache", P.forward_cpu), _stream("cache"), size_bytes=256
)


def _from_disk(*work: Node) -> Node:
    """Returns the step in which the client reads from the object disk, with a lease that the file
    manager has granted. `work` is the object disk's work."""
    return seq(
        cpu("client", P.client_call_cpu),
        call(
            "object_disk",
            "readObject",
            cpu("object_disk", P.object_cpu),
            *work,
            _stream("object_disk"),
        ),
    )


def _reads(*work: Node) -> Node:
    """Returns the step of all requests of a read. Which machine answers a request depends on the
    read:
    - direct I/O: the object disk
    - cold request: another machine's memory or the object disk
    - warm request: the client's own memory or another machine's memory.

    `work` is the object disk's work for a request that it answers.
    """
    forwarded = _ask("readLease", _from_memory)
    read = seq(_ask("readLease"), _from_disk(*work))
    own = cpu("client", request_bytes * P.client_byte_cpu, "copy")
    cold = choice((P.other_hits, forwarded), (1 - P.other_hits, read))
    warm = choice((P.own_hits, own), (1 - P.own_hits, forwarded))
    return repeat(requests, either(P.direct, read, either(P.cold, cold, warm)))


_uncached = P.direct | P.cold
_disk_read = disk_read("object_disk", request_bytes, "diskRead")
# If access is sequential and I/O is not direct, the object disk reads ahead while a request is
# answered.
_read = seq(
    either(
        P.scattered | P.direct,
        _reads(when(_uncached, _disk_read)),
        par(
            _reads(),
            when(
                P.cold,
                call(
                    "object_disk",
                    "readAhead",
                    disk_read("object_disk", P.file_size * (1 - P.other_hits)),
                ),
            ),
        ),
    ),
    name="read",
)


def _store(*work: Node) -> Node:
    """Returns the step in which the client writes the bytes of one request to the object. `work` is
    the object disk's work."""
    sent = pipeline(
        packets,
        send(
            "object_disk",
            "data",
            cpu("object_disk", packet_bytes * P.sender_byte_cpu, "receive"),
            size_bytes=packet_bytes,
        ),
        name="stream",
    )
    return seq(
        cpu("client", P.client_call_cpu),
        sent,
        call("object_disk", "writeObject", cpu("object_disk", P.object_cpu), *work),
    )


_revoke = choice((P.revocations, call("cache", "revoke", cpu("cache", P.forward_cpu))))
_on_disk = disk_write(
    "object_disk", request_bytes, seeks=seeks_of_unit(requests, request_bytes), name="diskWrite"
)
_leased = seq(_ask("writeLease", _revoke), cpu("client", request_bytes * P.client_byte_cpu, "copy"))
# Up to `max_dirty` bytes of a write (`absorbed_bytes`) stay in the client's memory and are written
# back later. This does not hold for synchronous and direct writes. The other bytes are sent to the
# object disk before the write is answered. With `fsync`, the step `_sync` sends all bytes.
_kept = seq(
    repeat(requests, _leased),
    when(
        ~P.fsync,
        repeat(streamed_requests, _store(later(_on_disk, name="write-back"))),
        when(
            absorbed_bytes > 0,
            later(repeat(requests - streamed_requests, _store(_on_disk)), name="write-back"),
        ),
    ),
)
_forced_write = disk_write("object_disk", request_bytes, seeks=FORCED_SEEKS)
_write = seq(
    either(
        P.forced | P.direct,
        repeat(requests, _leased, _store(either(P.forced, _forced_write, _on_disk))),
        _kept,
    ),
    name="write",
)
_sync = when(
    P.fsync & ~P.forced,
    seq(
        either(
            P.direct,
            call("object_disk", "flush", cpu("object_disk", P.object_cpu)),
            seq(
                repeat(requests, _store()),
                call(
                    "object_disk",
                    "flush",
                    disk_write("object_disk", P.file_size, seeks=seeks_of(P.file_size)),
                ),
            ),
        ),
        name="fsync",
    ),
)


def _transaction(name: str, objects: Expr) -> Node:
    """Returns the step of a distributed transaction on `objects` directories and objects. A
    transaction server takes leases on these directories and objects, writes the log to an object
    disk, and then makes the changes."""
    lease = call("file_manager", "lockObject", _managed("file_manager", P.lease_cpu), _object_lease)
    log = call(
        "object_disk",
        "logTransaction",
        cpu("object_disk", P.object_cpu),
        disk_write("object_disk", P.log_bytes, seeks=FORCED_SEEKS),
        request_bytes=P.log_bytes,
    )
    change = call("object_disk", "changeObject", cpu("object_disk", P.object_cpu))
    return seq(
        cpu("client", P.client_call_cpu),
        call(
            "transaction_server",
            name,
            _managed("transaction_server", P.transaction_cpu),
            repeat(objects, lease),
            log,
            repeat(objects, change),
        ),
    )


_two = expression(2)
_open = seq(_ask("open", _object_lease), name="open")
_create = seq(_transaction("create", _two), name="create")
_list_bytes = named("list_bytes", ENTRY_BYTES * P.entries)

OPERATIONS = {
    "read": seq(_open, _read),
    "write": seq(_create, _write, _sync),
    "append": seq(_open, _write, _sync),
    "create": _create,
    "stat": seq(_ask("getAttributes", _object_lease), name="stat"),
    "list": seq(
        _ask("openDirectory", _object_lease, response_bytes=_list_bytes),
        cpu("client", P.entries * P.entry_cpu, "entries"),
        name="list",
    ),
    "rename": seq(_transaction("rename", _two), name="rename"),
    "delete": seq(_transaction("delete", _two), name="delete"),
}
