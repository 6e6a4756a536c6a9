"""Describes operations through Hadoop's client on a store whose internals are unknown.

The client looks a file up before it reads the file, and creates a file before it writes the file.
The file's bytes stream between client and store. The store's disk has the bytes of a written file
when the file is closed. The bytes of a read file come from the disk unless they are cached. A real
store also does work that the client does not observe, such as replicas, uploads and journals. The
calibrated times of calls include this work.
"""

from __future__ import annotations

from dfslab.filesystems.hadoop.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, ceiling, named
from dfslab.spec.steps.heads import FORCED_SEEKS, seeks_of_unit
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    at,
    call,
    cpu,
    disk_read,
    disk_write,
    either,
    pipeline,
    repeat,
    reply,
    send,
    seq,
    when,
)

chunks = named("chunks", Max(1, ceiling(P.file_size / P.chunk_size)))
chunk_bytes = named("chunk_bytes", P.file_size / chunks)


def _ask(name: str, *work: Node, response_bytes: Expression = 512) -> Node:
    """Returns the step in which the client calls the store. The store does `work` and answers with
    `response_bytes`."""
    return seq(
        cpu("client", P.client_call_cpu),
        call("store", name, *work, request_bytes=512, response_bytes=response_bytes),
    )


def _change(name: str) -> Node:
    return _ask(name, cpu("store", P.update_cpu))


_open = seq(_ask("getFileStatus", cpu("store", P.lookup_cpu)), name="open")


def _read(units: Expr, each: Expr) -> Node:
    """Returns the step that reads a stream of `units` chunks of `each` bytes from the store."""
    return _ask(
        "read",
        pipeline(
            units,
            when(P.cold, disk_read("store", each, "diskRead", seeks_of_unit(units, each))),
            cpu("store", each * P.store_byte_cpu, "sendChunk"),
            send("client", "chunk", size_bytes=each),
            cpu("client", each * P.client_byte_cpu, "receiveChunk"),
            name="stream",
        ),
    )


# With random access, every call of the client is a separate request.
calls = named("calls", Max(1, ceiling(P.file_size / P.transfer_size)))
call_bytes = named("call_bytes", P.file_size / calls)
_call_chunks = named("call_chunks", Max(1, ceiling(call_bytes / P.chunk_size)))
_read_calls = repeat(calls, _read(_call_chunks, call_bytes / _call_chunks))
_create = seq(_change("create"), name="create")


def _write(units: Expr, each: Expr, seeks: Expr) -> Node:
    """Returns the step that writes a stream of `units` chunks of `each` bytes to the store's disk.
    `seeks` is the number of positionings of the disk's head for one chunk."""
    return pipeline(
        units,
        cpu("client", each * P.client_byte_cpu, "sendChunk"),
        send(
            "store",
            "write",
            cpu("store", each * P.store_byte_cpu),
            disk_write("store", each, seeks=seeks),
            size_bytes=each,
        ),
        name="stream",
    )


# With synchronous writes, each call waits for its answer before the next call is sent.
_write_calls = repeat(
    calls,
    _write(_call_chunks, call_bytes / _call_chunks, FORCED_SEEKS / _call_chunks),
    at("store", reply("client", size_bytes=512, name="acknowledged")),
)
_written = either(
    P.forced, _write_calls, _write(chunks, chunk_bytes, seeks_of_unit(chunks, chunk_bytes))
)
_close = seq(_change("complete"), name="close")

OPERATIONS = {
    "read": seq(
        _open, seq(either(P.scattered, _read_calls, _read(chunks, chunk_bytes)), name="read")
    ),
    "write": seq(_create, seq(_written, name="write"), _close),
    "create": seq(_create, _close),
    "stat": seq(_ask("getFileStatus", cpu("store", P.lookup_cpu)), name="stat"),
    "list": seq(
        _ask(
            "listStatus",
            cpu("store", P.lookup_cpu + P.entries * P.entry_cpu),
            response_bytes=300 * P.entries,
        ),
        name="list",
    ),
    "rename": seq(_change("rename"), name="rename"),
    "delete": seq(_change("delete"), name="delete"),
}
