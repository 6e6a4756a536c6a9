"""Describes the operations of MooseFS: the master locates chunks, and the client sends one copy.

The chunkservers of a chunk form a chain, in which each forwards the data to the next. A client's
fsync waits until all chunkservers have received the data, not until it is on their disks.
"""

from __future__ import annotations

from dfslab.filesystems.moosefs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Max, ceiling, named
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
    when,
)

chunks = named("chunks", Max(1, ceiling(P.file_size / P.chunk_size)))
chunk_bytes = named("chunk_bytes", P.file_size / chunks)
blocks = named("blocks", Max(1, ceiling(chunk_bytes / P.block_size)))
block_bytes = named("block_bytes", chunk_bytes / blocks)


def _ask(name: str, seconds: Expression, response_bytes: Expression = 128) -> Node:
    """One call to the master, which needs `seconds` of its processor."""
    return seq(
        cpu("client", P.client_call_cpu),
        call(
            "master", name, cpu("master", seconds), request_bytes=128, response_bytes=response_bytes
        ),
    )


def _stream(count: Expression) -> Node:
    """Reads `count` blocks from one chunkserver."""
    return call(
        "chunkserver",
        "read",
        pipeline(
            count,
            seq(
                when(P.cold, disk_read("chunkserver", block_bytes, "diskRead")),
                cpu("chunkserver", block_bytes * P.server_byte_cpu, "sendBlock"),
            ),
            send("client", "block", size_bytes=block_bytes),
            cpu("client", block_bytes * P.client_byte_cpu, "receiveBlock"),
            name="stream",
        ),
    )


_find_chunk = seq(
    _ask("readChunk", P.lookup_cpu), delay("chunkserver", P.connect, "connect"), name="find"
)
# While a chunk is read, the chunkservers of the next two chunks already read theirs from disk
# (observed on the disks of a testbed). So from the second chunk on, two disks work for one stream.
rest = Max(0, chunks - 1)
_read = seq(
    _find_chunk,
    _stream(blocks),
    repeat(rest, _find_chunk),
    either(
        rest > 1, par(_stream(Max(1, rest * blocks / 2)), copies=2), when(rest > 0, _stream(blocks))
    ),
    name="read",
)

_hop = send(
    "chunkserver",
    "writeBlock",
    cpu("chunkserver", block_bytes * P.server_byte_cpu),
    size_bytes=block_bytes,
)

_write_chunk = seq(
    _ask("writeChunk", P.update_cpu),
    repeat(P.goal, delay("chunkserver", P.connect, "connect")),
    pipeline(
        blocks,
        cpu("client", block_bytes * P.client_byte_cpu, "sendBlock"),
        repeat(P.goal, _hop),
        name="chain",
    ),
    later(repeat(P.goal, disk_write("chunkserver", chunk_bytes)), name="write-back"),
    _ask("writeChunkEnd", P.update_cpu),
)

_open = seq(_ask("lookup", P.lookup_cpu), _ask("open", P.lookup_cpu), name="open")
_create = seq(_ask("lookup", P.lookup_cpu), _ask("create", P.update_cpu), name="create")
_written = seq(repeat(chunks, _write_chunk), name="write")

OPERATIONS = {
    "read": seq(_open, _read),
    "write": seq(_create, _written),
    "append": seq(_open, _written),
    "create": _create,
    "stat": seq(_ask("lookup", P.lookup_cpu), name="stat"),
    # The client requests attributes, permission and names one after the other (counted on a
    # testbed).
    "list": seq(
        _ask("getattr", P.lookup_cpu),
        _ask("access", P.lookup_cpu),
        _ask("readdir", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=40 * P.entries),
        name="list",
    ),
    "rename": seq(
        repeat(2, _ask("lookup", P.lookup_cpu)), _ask("rename", P.update_cpu), name="rename"
    ),
    "delete": seq(_ask("lookup", P.lookup_cpu), _ask("unlink", P.update_cpu), name="delete"),
}
