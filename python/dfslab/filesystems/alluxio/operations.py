"""Describes the operations of Alluxio. Metadata comes from the master, and blocks come from the
memory of workers.

A written block stays in the memory of one worker (write type MUST_CACHE). Reads get the block from
this worker, so no operation waits for a disk.
"""

from __future__ import annotations

from dfslab.filesystems.alluxio.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Max, Min, ceiling, named, select
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    call,
    cpu,
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


_connect = call("worker", "openBlock", cpu("worker", P.connect_cpu, "connect"))
_read_block = seq(
    _connect,
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
# With its default mount options, the kernel reads ahead with several concurrent requests. These
# reach the FUSE process out of order. A request that does not continue its stream opens the block
# again and transfers two chunks of 2 MiB in total: the requested chunk and the chunk read ahead
# (Alluxio/alluxio issues 13206, 16623 and 17026 on GitHub).
#
# With the option sync_read or with direct I/O, the kernel has only one request in flight. The block
# is then opened again only if the program jumps to another position.
requests = named("requests", Max(1, ceiling(P.file_size / P.max_read)))
_kernel_bytes = select(P.direct | P.scattered, Min(P.transfer_size, P.max_read), P.max_read)
_kernel_reads = named("kernel_reads", Max(1, ceiling(P.file_size / _kernel_bytes)))
_jumps = named("jumps", Max(1, ceiling(P.file_size / P.transfer_size)))
_in_order = P.direct | P.sync_read
_openings = named(
    "openings",
    select(P.scattered & _in_order, _jumps, 1 + P.reopened * (Max(_kernel_reads, requests) - 1)),
)
_moved_bytes = named("moved_bytes", Min(2 * P.chunk_size, block_bytes))
_reopened_read = seq(
    _connect,
    call(
        "worker",
        "readBlock",
        cpu("worker", _moved_bytes * P.worker_byte_cpu, "sendChunk"),
        response_bytes=_moved_bytes,
    ),
    cpu("client", _moved_bytes * P.client_byte_cpu, "receiveChunk"),
)
_streamed = ~P.scattered & (_in_order | (requests <= blocks))
_read = seq(
    cpu("client", _kernel_reads * P.client_call_cpu, "request"),
    either(
        _streamed, repeat(blocks, _read_block), repeat(_openings, _reopened_read, reselect=True)
    ),
    name="read",
)
_write_block = seq(
    _connect,
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
