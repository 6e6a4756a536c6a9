"""Describes operations through Hadoop's client on a store whose internals are unknown.

A file is looked up to be opened, and created to be written. Its bytes stream through the client,
are on the store's disk when the file is closed, and are read from there unless cached. The work of
a real store behind one call (replicas, uploads, journals) is part of the calibrated times.
"""

from __future__ import annotations

from dfslab.filesystems.hadoop.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Max, ceiling, named
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    call,
    cpu,
    disk_read,
    disk_write,
    pipeline,
    send,
    seq,
    when,
)

chunks = named("chunks", Max(1, ceiling(P.file_size / P.chunk_size)))
chunk_bytes = named("chunk_bytes", P.file_size / chunks)


def _ask(name: str, *work: Node, response_bytes: Expression = 512) -> Node:
    """One call to the store, in which the store does `work` and answers with `response_bytes`."""
    return seq(
        cpu("client", P.client_call_cpu),
        call("store", name, *work, request_bytes=512, response_bytes=response_bytes),
    )


def _change(name: str) -> Node:
    return _ask(name, cpu("store", P.update_cpu))


_open = seq(_ask("getFileStatus", cpu("store", P.lookup_cpu)), name="open")
_read = _ask(
    "read",
    pipeline(
        chunks,
        when(P.cold, disk_read("store", chunk_bytes, "diskRead")),
        cpu("store", chunk_bytes * P.store_byte_cpu, "sendChunk"),
        send("client", "chunk", size_bytes=chunk_bytes),
        cpu("client", chunk_bytes * P.client_byte_cpu, "receiveChunk"),
        name="stream",
    ),
)
_create = seq(_change("create"), name="create")
_written = pipeline(
    chunks,
    cpu("client", chunk_bytes * P.client_byte_cpu, "sendChunk"),
    send(
        "store",
        "write",
        cpu("store", chunk_bytes * P.store_byte_cpu),
        disk_write("store", chunk_bytes),
        size_bytes=chunk_bytes,
    ),
    name="stream",
)
_close = seq(_change("complete"), name="close")

OPERATIONS = {
    "read": seq(_open, seq(_read, name="read")),
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
