"""Describes the operations of MooseFS: the master locates chunks, and the client sends one copy of
the data.

The chunkservers that store a chunk form a chain. Each chunkserver forwards the data to the next
chunkserver. fsync waits until all chunkservers have received the data, but not until the data is on
their disks.
"""

from __future__ import annotations

from dfslab.filesystems.moosefs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Max, Min, ceiling, named, select
from dfslab.spec.steps.heads import seeks_of, seeks_of_unit
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    at,
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
    reply,
    send,
    seq,
    when,
)
from dfslab.spec.steps.read_ahead import windows_of

chunks = named("chunks", Max(1, ceiling(P.file_size / P.chunk_size)))
chunk_bytes = named("chunk_bytes", P.file_size / chunks)
blocks = named("blocks", Max(1, ceiling(chunk_bytes / P.block_size)))
block_bytes = named("block_bytes", chunk_bytes / blocks)


def _ask(name: str, seconds: Expression, response_bytes: Expression = 128) -> Node:
    """Returns the step in which the client calls the master. The call needs `seconds` of the
    master's processor and is answered with `response_bytes`."""
    return seq(
        cpu("client", P.client_call_cpu),
        call(
            "master", name, cpu("master", seconds), request_bytes=128, response_bytes=response_bytes
        ),
    )


def _stream(
    count: Expression, each: Expression = block_bytes, seeks: Expression | None = None
) -> Node:
    """Returns the step that reads `count` blocks of `each` bytes from one chunkserver.

    `seeks` is the number of movements of the disk's head for each block. If it is None, the number
    depends on the access: the head moves once for each chunk if access is sequential, and once for
    each transfer if access is random.
    """
    seeks = seeks_of_unit(blocks, block_bytes) if seeks is None else seeks
    return call(
        "chunkserver",
        "read",
        pipeline(
            count,
            seq(
                when(P.cold, disk_read("chunkserver", each, "diskRead", seeks)),
                cpu("chunkserver", each * P.server_byte_cpu, "sendBlock"),
            ),
            send("client", "block", size_bytes=each),
            cpu("client", each * P.client_byte_cpu, "receiveBlock"),
            name="stream",
        ),
    )


_find_chunk = seq(
    _ask("readChunk", P.lookup_cpu), delay("chunkserver", P.connect, "connect"), name="find"
)
# Chunkservers read ahead: while a client reads one chunk, the chunkservers of the next two chunks
# already read these chunks from disk. This was observed on the disks of a testbed. From the second
# chunk on, two disks therefore work for one stream at the same time.
rest = Max(0, chunks - 1)
_ahead = seq(
    _stream(blocks),
    repeat(rest, _find_chunk),
    either(
        rest > 1, par(_stream(Max(1, rest * blocks / 2)), copies=2), when(rest > 0, _stream(blocks))
    ),
)
# With random access or without the client's cache, every call is a separate request whose data was
# not read ahead. `calls` is the number of calls for a file, and `call_bytes` is the size of each.
calls = named("calls", Max(1, ceiling(P.file_size / P.transfer_size)))
call_bytes = named("call_bytes", P.file_size / calls)
_call_blocks = named("call_blocks", Max(1, ceiling(call_bytes / P.block_size)))
_in_turn = seq(
    repeat(rest, _find_chunk),
    repeat(
        calls,
        _stream(
            _call_blocks,
            call_bytes / _call_blocks,
            select(P.scattered, 1, 1 / calls) / _call_blocks,
        ),
    ),
)
# Most bytes of one FUSE request.
REQUEST_BYTES = 131072
_by_call = Max(1, ceiling(P.file_size / Min(P.transfer_size, REQUEST_BYTES)))
_one_by_one = P.scattered | P.direct
_read_requests = named("read_requests", select(_one_by_one, _by_call, windows_of(P.file_size)))
_read = seq(
    _find_chunk,
    cpu("client", _read_requests * P.client_call_cpu, "request"),
    either(_one_by_one, _in_turn, _ahead),
    name="read",
)


def _chain(count, each) -> Node:
    """Returns the step that sends `count` blocks of `each` bytes along the chain of
    chunkservers."""
    hop = send(
        "chunkserver", "writeBlock", cpu("chunkserver", each * P.server_byte_cpu), size_bytes=each
    )
    return pipeline(
        count,
        cpu("client", each * P.client_byte_cpu, "sendBlock"),
        repeat(P.goal, hop),
        name="chain",
    )


# A direct or synchronous write call waits until all chunkservers of the chain have its data and
# acknowledge it.
_chunk_calls = named("chunk_calls", Max(1, ceiling(chunk_bytes / P.transfer_size)))
_write_blocks = named("write_blocks", Max(1, ceiling(chunk_bytes / _chunk_calls / P.block_size)))
_acknowledged = seq(
    at(
        "chunkserver", repeat(P.goal - 1, reply("chunkserver", size_bytes=128, name="acknowledged"))
    ),
    at("chunkserver", reply("client", size_bytes=128, name="acknowledged")),
)
# If writes are neither direct nor synchronous, the client waits for their acknowledgement only when
# the file is closed.
_chained = either(
    P.direct | P.forced,
    repeat(
        _chunk_calls,
        _chain(_write_blocks, chunk_bytes / _chunk_calls / _write_blocks),
        _acknowledged,
    ),
    seq(_chain(blocks, block_bytes), _acknowledged),
)
# All chunkservers of a new chunk create the chunk before the master answers.
_make_chunk = call(
    "master",
    "writeChunk",
    cpu("master", P.update_cpu),
    par(
        call("chunkserver", "create", delay("chunkserver", P.make_chunk, "makeChunk")),
        copies=P.goal,
    ),
    request_bytes=128,
    response_bytes=128,
)
_write_chunk = seq(
    cpu("client", P.client_call_cpu),
    _make_chunk,
    repeat(P.goal, delay("chunkserver", P.connect, "connect")),
    _chained,
    later(
        repeat(P.goal, disk_write("chunkserver", chunk_bytes, seeks=seeks_of(chunk_bytes))),
        name="write-back",
    ),
    _ask("writeChunkEnd", P.update_cpu),
)

_open = seq(_ask("lookup", P.lookup_cpu), _ask("open", P.lookup_cpu), name="open")
_create = seq(_ask("lookup", P.lookup_cpu), _ask("create", P.update_cpu), name="create")
_write_requests = named("write_requests", _by_call)
_written = seq(
    cpu("client", _write_requests * P.client_call_cpu, "request"),
    repeat(chunks, _write_chunk),
    name="write",
)
_close = seq(cpu("client", P.client_call_cpu), name="close")

OPERATIONS = {
    "read": seq(_open, _read, _close),
    "write": seq(_create, _written, _close),
    "append": seq(_open, _written, _close),
    "create": seq(_create, _close),
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
