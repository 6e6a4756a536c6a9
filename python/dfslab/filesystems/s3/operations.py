"""Describes the operations of S3.

The operation `read` opens an object and reads it. Opening sends nothing: the first request is sent
with the first read. In the operation `write`, the client buffers data until a part is full or the
object is closed. Closing sends the last data and completes the object, which makes it visible and
durable.
"""

from __future__ import annotations

from dfslab.filesystems.s3.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, ceiling, named
from dfslab.spec.steps.heads import seeks_of_unit
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    call,
    cpu,
    disk_read,
    disk_write,
    either,
    pipeline,
    repeat,
    send,
    seq,
    when,
)

parts = named("parts", Max(1, ceiling(P.file_size / P.part_size)))
part_bytes = named("part_bytes", P.file_size / parts)
in_parts = parts > 1
chunks = named("chunks", Max(1, ceiling(P.file_size / P.chunk_size)))
chunk_bytes = named("chunk_bytes", P.file_size / chunks)
# Bytes of the headers of an S3 request, in addition to its data: names, dates, a signature and a
# digest.
HEADER_BYTES = 1024


def _ask(
    name: str,
    *work: Node,
    request_bytes: Expression = HEADER_BYTES,
    response_bytes: Expression = 512,
) -> Node:
    """Returns the step in which the client sends one request to the store. The store does `work`
    and answers with `response_bytes`."""
    return seq(
        cpu("client", P.client_call_cpu),
        call("store", name, *work, request_bytes=request_bytes, response_bytes=response_bytes),
    )


def _put(name: str, size_bytes: Expr) -> Node:
    """Returns the step of a request that stores `size_bytes`. The data is durable when the answer
    arrives."""
    return seq(
        cpu("client", size_bytes * P.client_byte_cpu),
        _ask(
            name,
            cpu("store", P.update_cpu + size_bytes * P.store_byte_cpu),
            disk_write("store", size_bytes),
            request_bytes=size_bytes + HEADER_BYTES,
        ),
    )


def _get(units: Expr, each: Expr) -> Node:
    """Returns the step of one GET request, which reads `units` chunks of `each` bytes."""
    return _ask(
        "getObject",
        cpu("store", P.lookup_cpu),
        pipeline(
            units,
            when(P.cold, disk_read("store", each, "diskRead", seeks_of_unit(units, each))),
            cpu("store", each * P.store_byte_cpu, "sendChunk"),
            send("client", "chunk", size_bytes=each),
            cpu("client", each * P.client_byte_cpu, "receiveChunk"),
            name="stream",
        ),
    )


# With random access, every call is a GET request for its own range. `calls` is the number of calls
# for an object, and `call_bytes` is the size of each.
calls = named("calls", Max(1, ceiling(P.file_size / P.transfer_size)))
call_bytes = named("call_bytes", P.file_size / calls)
_call_chunks = named("call_chunks", Max(1, ceiling(call_bytes / P.chunk_size)))
_read = either(
    P.scattered,
    repeat(calls, _get(_call_chunks, call_bytes / _call_chunks)),
    _get(chunks, chunk_bytes),
)
_upload = seq(
    _ask("createMultipartUpload", cpu("store", P.update_cpu)),
    repeat(parts - 1, _put("uploadPart", part_bytes)),
)
_complete = _ask("completeMultipartUpload", cpu("store", P.update_cpu))
_delete = _ask("deleteObject", cpu("store", P.update_cpu))

OPERATIONS = {
    "read": seq(_read, name="read"),
    "write": seq(
        when(in_parts, _upload, name="write"),
        seq(_put("putObject", part_bytes), when(in_parts, _complete), name="close"),
    ),
    "create": seq(_ask("putObject", cpu("store", P.update_cpu)), name="close"),
    "stat": seq(_ask("headObject", cpu("store", P.lookup_cpu)), name="stat"),
    "list": seq(
        _ask(
            "listObjects",
            cpu("store", P.lookup_cpu + P.entries * P.entry_cpu),
            response_bytes=300 * P.entries,
        ),
        name="list",
    ),
    # S3 has no rename, so the object is copied and the old object is removed.
    "rename": seq(
        _ask(
            "copyObject",
            cpu("store", P.update_cpu + P.file_size * P.store_byte_cpu),
            disk_write("store", P.file_size),
        ),
        _delete,
        name="rename",
    ),
    "delete": seq(_delete, name="delete"),
}
