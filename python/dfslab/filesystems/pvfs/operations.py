"""Describes the operations of PVFS after Nguyen and Apon 2012: client, network, I/O servers (CPU,
disk), manager.

Every call of the application is a separate request: the client splits the request into stripes,
sends them to the I/O servers round robin, and waits for all answers. Clients do not cache, so the
size of the application's calls determines how many servers work concurrently. A call of at most one
stripe uses one server. A larger call is spread evenly over all servers that its stripes reach.
"""

from __future__ import annotations

from dfslab.filesystems.pvfs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, named, select
from dfslab.spec.steps.heads import FORCED_SEEKS
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    call,
    cpu,
    delay,
    disk_read,
    disk_write,
    either,
    later,
    par,
    pipeline,
    repeat,
    send,
    seq,
    striped,
    when,
)

calls = named("calls", Max(1, ceiling(P.file_size / P.transfer_size)))
call_bytes = named("call_bytes", P.file_size / calls)
servers_per_call = Min(P.stripe_count, ceiling(P.transfer_size / P.stripe_size))
# Number of rounds in which the servers' disks transfer a file. In a round, each disk transfers its
# part of one call. If this part is smaller than a stripe, the disk transfers one stripe instead.
# With synchronous writes, a round is always one call.
rounds = named(
    "rounds",
    select(
        P.forced,
        calls,
        Max(1, ceiling(P.file_size / Max(P.transfer_size, P.stripe_count * P.stripe_size))),
    ),
)
round_bytes = named("round_bytes", P.file_size / rounds)
durable = P.sync_on_close | P.fsync


def _ask(
    name: str, seconds: Expression, *, writes: bool = False, response_bytes: Expression = 256
) -> Node:
    """Returns the step in which the client calls the manager. The call needs `seconds` of the
    manager's processor and is answered with `response_bytes`. If the call `writes`, the manager
    answers when the change is on disk."""
    sync = (delay("manager", P.metadata_sync, "sync"),) if writes else ()
    handled = cpu("manager", seconds, "handle")
    return seq(
        cpu("client", P.request_cpu),
        call("manager", name, handled, *sync, response_bytes=response_bytes),
    )


def _ask_servers(name: str, *work: Node) -> Node:
    """Returns the step that sends a request to all servers of the file concurrently. `work` is a
    server's work for the request in addition to the processor time `server_cpu`."""
    return par(call("server", name, cpu("server", P.server_cpu), *work), copies=P.stripe_count)


def _read_from(size_bytes: Expr, *, from_disk: bool) -> Node:
    """Returns the step in which one server sends `size_bytes` to answer a read call.

    The bytes are split into flow buffers, so that network and client work on different buffers at
    the same time. If `from_disk` is true and the data is not in the page cache, the server's disk
    reads each buffer first.
    """
    buffers = named("buffers", Max(1, ceiling(size_bytes / P.flow_buffer)))
    each = size_bytes / buffers
    sent = cpu("server", each * P.server_byte_cpu, "sendBuffer")
    seeks = select(P.scattered, 1, 1 / calls) / buffers
    read = when(P.cold, disk_read("server", each, "diskRead", seeks))
    flow = pipeline(
        buffers,
        seq(read, sent) if from_disk else sent,
        send("client", "buffer", size_bytes=each),
        cpu("client", each * P.client_byte_cpu, "receiveBuffer"),
        name="flow",
    )
    return call("server", "read", cpu("server", P.server_cpu), flow)


def _write_to(size_bytes: Expr) -> Node:
    """Returns the step in which one server stores `size_bytes` of a write call in its page cache. A
    write takes two round trips. In the first, the server admits the request. In the second, the
    client sends the data and the server answers."""
    buffers = named("buffers", Max(1, ceiling(size_bytes / P.flow_buffer)))
    each = size_bytes / buffers
    flow = pipeline(
        buffers,
        cpu("client", each * P.client_byte_cpu, "sendBuffer"),
        send(
            "server",
            "buffer",
            cpu("server", each * P.server_byte_cpu, "storeBuffer"),
            size_bytes=each,
        ),
        name="flow",
    )
    admitted = call("server", "write", cpu("server", P.server_cpu))
    return seq(admitted, flow, delay("client", P.network_latency, "answer"))


def _calls(count: Expression, from_disk: bool) -> Node:
    """Returns the step of `count` read calls, one after another. Each call reads from all servers
    that store a part of its range."""
    parts = striped(
        call_bytes,
        P.stripe_size,
        servers_per_call,
        lambda size: _read_from(size, from_disk=from_disk),
    )
    return repeat(count, cpu("client", P.request_cpu), parts)


_seeks = select(P.forced, FORCED_SEEKS, select(P.scattered, calls / rounds, 1 / rounds))
_disks = striped(
    round_bytes,
    P.stripe_size,
    P.stripe_count,
    lambda size: disk_write("server", size, seeks=_seeks),
)
_read_ahead = striped(
    round_bytes,
    P.stripe_size,
    P.stripe_count,
    lambda size: disk_read("server", size, "readAhead", 1 / rounds),
)
# Sequential reads go through the servers' read-ahead: while the servers send one round of data, the
# disks read the next round.
_read = seq(
    either(
        P.cold & ~P.scattered,
        pipeline(rounds, _read_ahead, _calls(calls / rounds, False)),
        _calls(calls, True),
    ),
    name="read",
)
_sent = seq(
    repeat(
        calls / rounds,
        cpu("client", P.request_cpu),
        striped(call_bytes, P.stripe_size, servers_per_call, _write_to),
    )
)
# Data that is synchronised on close is written to disk when the file is closed, after all data was
# sent. Other data is written by the servers' write-back while the client sends the next round.
_written = seq(
    either(
        P.forced,
        repeat(rounds, _sent, _disks, _ask_servers("flush", delay("server", P.commit))),
        either(
            durable,
            repeat(rounds, _sent),
            pipeline(rounds, _sent, later(_disks, name="write-back")),
        ),
    ),
    name="write",
)
_flush = when(
    durable & ~P.forced,
    seq(repeat(rounds, _disks), _ask_servers("flush", delay("server", P.commit)), name="flush"),
)
_open = seq(_ask("lookup", P.lookup_cpu), name="open")
_close = seq(_ask("close", P.lookup_cpu), name="close")
_create = seq(
    _ask("lookup", P.lookup_cpu),
    _ask("create", P.update_cpu, writes=True),
    _ask("createEntry", P.update_cpu, writes=True),
    name="create",
)

OPERATIONS = {
    "read": seq(_open, _read, _close),
    "write": seq(_create, _written, _flush, _close),
    "append": seq(_open, seq(_ask_servers("getSize"), name="getSize"), _written, _flush, _close),
    "create": seq(_create, _close),
    # Only the servers of a file know the file's size, so a stat sends a request to each of them.
    "stat": seq(
        _ask("lookup", P.lookup_cpu),
        _ask("getattr", P.lookup_cpu),
        _ask_servers("getSize"),
        name="stat",
    ),
    "list": seq(
        _ask("lookup", P.lookup_cpu),
        _ask("readdir", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=64 * P.entries),
        name="list",
    ),
    "rename": seq(
        _ask("lookup", P.lookup_cpu),
        _ask("createEntry", P.update_cpu, writes=True),
        _ask("removeEntry", P.update_cpu, writes=True),
        name="rename",
    ),
    "delete": seq(
        _ask("lookup", P.lookup_cpu),
        _ask("removeEntry", P.update_cpu, writes=True),
        _ask("remove", P.update_cpu, writes=True),
        _ask_servers("removeData", delay("server", P.metadata_sync)),
        name="delete",
    ),
}
