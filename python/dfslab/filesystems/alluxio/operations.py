"""Describes the operations of Alluxio: metadata comes from the master, blocks from the memory of
workers.

A written block stays in the memory of one worker (write type MUST_CACHE) and is read from there, so
no operation waits for a disk.
"""

from __future__ import annotations

from dfslab.filesystems.alluxio.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Max, Min, ceiling, named
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    call,
    cpu,
    delay,
    either,
    pipeline,
    repeat,
    send,
    seq,
)

blocks = named("blocks", Max(1, ceiling(P.file_size / P.block_size)))
block_bytes = named("block_bytes", P.file_size / blocks)
chunks = named("chunks", Max(1, ceiling(block_bytes / P.chunk_size)))
chunk_bytes = named("chunk_bytes", block_bytes / chunks)


def _ask(name: str, seconds: Expression, response_bytes: Expression = 512) -> Node:
    """Returns the step in which the client calls the master. The call takes `seconds` of processor
    time at the master."""
    return seq(
        cpu("client", P.client_call_cpu),
        call(
            "master", name, cpu("master", seconds), request_bytes=512, response_bytes=response_bytes
        ),
    )


_read_block = seq(
    delay("worker", P.connect, "connect"),
    call(
        "worker",
        "readBlock",
        pipeline(
            chunks,
            cpu("worker", chunk_bytes * P.worker_byte_cpu, "sendChunk"),
            send("client", "chunk", size_bytes=chunk_bytes),
            cpu("client", chunk_bytes * P.client_byte_cpu, "receiveChunk"),
            name="stream",
        ),
    ),
)
# The kernel reads ahead with several concurrent requests, which reach the FUSE process out of
# order. A request that does not continue its stream opens the block again, and transfers its chunk
# and the chunk read ahead, 2 MiB (Alluxio/alluxio issues 13206, 16623 and 17026 on GitHub). With
# direct I/O there is one request at a time.
requests = named("requests", Max(1, ceiling(P.file_size / P.max_read)))
_openings = named("openings", 1 + P.reopened * (requests - 1))
_moved_bytes = named("moved_bytes", Min(2 * P.chunk_size, block_bytes))
_request = seq(
    cpu("client", P.client_call_cpu, "request"),
    delay("worker", P.connect, "connect"),
    call(
        "worker",
        "readBlock",
        cpu("worker", _moved_bytes * P.worker_byte_cpu, "sendChunk"),
        response_bytes=_moved_bytes,
    ),
    cpu("client", _moved_bytes * P.client_byte_cpu, "receiveChunk"),
)
_direct_calls = ceiling(P.file_size / Min(P.transfer_size, P.max_read))
_in_order = seq(
    repeat(_direct_calls, cpu("client", P.client_call_cpu, "request")), repeat(blocks, _read_block)
)
_read = seq(
    either(P.direct | (requests <= blocks), _in_order, repeat(_openings, _request, reselect=True)),
    name="read",
)
_write_block = seq(
    delay("worker", P.connect, "connect"),
    pipeline(
        chunks,
        cpu("client", chunk_bytes * P.client_byte_cpu, "sendChunk"),
        send(
            "worker",
            "writeBlock",
            cpu("worker", chunk_bytes * P.worker_byte_cpu),
            size_bytes=chunk_bytes,
        ),
        name="stream",
    ),
)

_open = seq(_ask("getStatus", P.lookup_cpu), name="open")
_create = seq(_ask("createFile", P.update_cpu), name="create")
_complete = seq(_ask("completeFile", P.update_cpu), name="close")
_written = seq(repeat(blocks, _write_block), name="write")

OPERATIONS = {
    "read": seq(_open, _read),
    "write": seq(_create, _written, _complete),
    "create": seq(_create, _complete),
    "stat": seq(_ask("getStatus", P.lookup_cpu), name="stat"),
    "list": seq(
        _ask("listStatus", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=300 * P.entries),
        name="list",
    ),
    "rename": seq(_ask("rename", P.update_cpu), name="rename"),
    "delete": seq(_ask("remove", P.update_cpu), name="delete"),
}
