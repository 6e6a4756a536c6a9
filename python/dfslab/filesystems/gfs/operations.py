"""Describes the operations of GFS after Ghemawat 2003: the master locates chunks, chunkservers move
the data and order changes.

A mutation separates data from control (section 3.2): data is pushed along a chain of all replicas,
then the primary orders the mutation and makes the secondaries follow. Pushing B bytes to R replicas
ideally takes B / T + R L seconds, with the network throughput T in bytes/s and the latency L in
seconds. The operation "append" is the record append of GFS, for which the primary chooses the
offset.
"""

from __future__ import annotations

from dfslab.filesystems.gfs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, named, select
from dfslab.spec.steps.heads import FORCED_SEEKS, seeks_of
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    call,
    choice,
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
    send,
    seq,
    when,
)

chunks = named("chunks", Max(1, ceiling(P.file_size / P.chunk_size)))
calls = named("calls", Max(1, ceiling(P.file_size / Min(P.transfer_size, P.chunk_size))))
call_bytes = named("call_bytes", P.file_size / calls)
records = named(
    "records", Max(1, ceiling(P.file_size / Min(P.transfer_size, P.record_limit * P.chunk_size)))
)
record_bytes = named("record_bytes", P.file_size / records)


def _ask(
    name: str, seconds: Expression, *, writes: bool = False, response_bytes: Expression = 256
) -> Node:
    """Returns the step in which the client calls the master. The call needs `seconds` of the
    master's processor. If `writes` is true, the master answers only after its log has been flushed
    to its own disk and to remote disks."""
    flush = (delay("master", P.log_flush, "flushLog"),) if writes else ()
    handled = hold_thread("master", P.master_threads, cpu("master", seconds), name="handle")
    return seq(
        cpu("client", P.client_call_cpu),
        call("master", name, handled, *flush, response_bytes=response_bytes),
    )


def _push(size_bytes: Expr) -> Node:
    """Returns the step that pushes `size_bytes` along the chain of replicas. Each replica forwards
    data while it receives more."""
    units = named("units", Max(1, ceiling(size_bytes / P.push_unit)))
    each = size_bytes / units
    hop = send(
        "chunkserver",
        "push",
        cpu("chunkserver", each * P.chunkserver_byte_cpu, "buffer"),
        size_bytes=each,
    )
    return pipeline(
        units,
        cpu("client", each * P.client_byte_cpu, "sendData"),
        repeat(P.replication, hop),
        name="pushData",
    )


def _apply(size_bytes: Expr) -> Node:
    """Returns the step in which one replica writes `size_bytes` to its local file. A synchronous
    write waits for the disk. With `fsync`, the data reaches the disk in the step `_sync`; otherwise
    it is written back later."""
    seeks = select(P.scattered, 1, size_bytes / P.file_size)
    return seq(
        cpu("chunkserver", P.chunkserver_cpu, "apply"),
        either(
            P.forced,
            disk_write("chunkserver", size_bytes, seeks=FORCED_SEEKS),
            when(
                ~P.fsync,
                later(disk_write("chunkserver", size_bytes, seeks=seeks), name="write-back"),
            ),
        ),
    )


def _mutate(name: str, size_bytes: Expr) -> Node:
    """Returns the step of a mutation of `size_bytes`. For the fraction `lease_renewal` of all
    mutations, the master first grants a lease to a primary replica. The client pushes the data to
    all replicas. Then the primary orders the mutation and makes the secondaries apply it."""
    secondaries = par(call("chunkserver", "forward", _apply(size_bytes)), copies=P.replication - 1)
    grant = _ask("grantLease", P.update_cpu, writes=True)
    return seq(
        choice((P.lease_renewal, grant)),
        _push(size_bytes),
        cpu("client", P.client_call_cpu),
        call("chunkserver", name, _apply(size_bytes), secondaries),
    )


def _read_stream(size_bytes: Expr) -> Node:
    """Returns the step in which one chunkserver sends `size_bytes` to the client to answer one
    call."""
    units = named("units", Max(1, ceiling(size_bytes / P.push_unit)))
    each = size_bytes / units
    return pipeline(
        units,
        cpu("chunkserver", each * P.chunkserver_byte_cpu, "checksum"),
        send("client", "data", size_bytes=each),
        cpu("client", each * P.client_byte_cpu, "receive"),
        name="stream",
    )


_locate = repeat(ceiling(chunks / P.located_chunks), _ask("findLocations", P.lookup_cpu))


def _read_calls(*work: Node) -> Node:
    """Returns the step that repeats the call of a read until the whole file has been read. `work`
    is what the chunkserver does for each call."""
    return repeat(
        calls,
        cpu("client", P.client_call_cpu),
        call(
            "chunkserver",
            "readChunk",
            cpu("chunkserver", P.chunkserver_cpu),
            *work,
            _read_stream(call_bytes),
        ),
    )


# With sequential access, the chunkserver's kernel reads ahead: while the chunkserver answers one
# call, the kernel reads the data of the next call from disk.
_ahead = when(
    P.cold,
    repeat(
        chunks,
        call("chunkserver", "readAhead", disk_read("chunkserver", P.file_size / chunks)),
        reselect=True,
    ),
)
_read = seq(
    either(
        P.scattered,
        _read_calls(when(P.cold, disk_read("chunkserver", call_bytes, "diskRead"))),
        par(_read_calls(), _ahead),
    ),
    name="read",
)
_new_chunks = repeat(chunks, _ask("allocateChunk", P.update_cpu, writes=True))
_sync = when(
    P.fsync & ~P.forced,
    seq(
        par(
            call(
                "chunkserver",
                "sync",
                disk_write("chunkserver", P.file_size, seeks=seeks_of(P.file_size)),
            ),
            copies=P.replication,
        ),
        name="fsync",
    ),
)
_create = seq(_ask("create", P.update_cpu, writes=True), name="create")

OPERATIONS = {
    "read": seq(seq(_locate, name="open"), _read),
    "write": seq(
        _create, seq(_new_chunks, repeat(calls, _mutate("write", call_bytes)), name="write"), _sync
    ),
    "append": seq(
        seq(_ask("findPrimary", P.lookup_cpu), name="open"),
        repeat(records, _mutate("recordAppend", record_bytes), name="write"),
        _sync,
    ),
    "create": _create,
    "stat": seq(_ask("getFileInfo", P.lookup_cpu), name="stat"),
    "list": seq(
        _ask(
            "listDirectory", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=100 * P.entries
        ),
        name="list",
    ),
    "rename": seq(_ask("rename", P.update_cpu, writes=True), name="rename"),
    # A deleted file is renamed to a hidden name. Its chunks are removed days later.
    "delete": seq(_ask("delete", P.update_cpu, writes=True), name="delete"),
}
