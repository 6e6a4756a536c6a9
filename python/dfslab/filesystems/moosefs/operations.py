"""Operations of MooseFS: metadata at the master, chunks in chains of chunkservers.

A client sends each block once and the chunkservers hand it on. Several chunks of a file are written
at the same time, so a file of more than one chunk meets all chunkservers. fsync sends what the
client holds and waits for no disk, so it has no step of its own: a written file is closed when the
chunkservers have it.
"""

from __future__ import annotations

from sympy import Expr, Max, Min, ceiling

from dfslab.filesystems.moosefs.facts import PARAMETERS as P
from dfslab.spec.operation import (
    Node,
    call,
    choice,
    cpu,
    disk_read,
    disk_write,
    pipeline,
    repeat,
    send,
    seq,
    striped,
)
from dfslab.spec.parameters import symbol

# Linux gathers what it writes back, and reads ahead (read_ahead_kb).
GATHERED_BYTES = 2**20
AHEAD_BYTES = 2**17
at_once = Min(P.parallel_chunks, symbol("chunkserver.instances"))
chunks = Max(1, ceiling(P.file_size / P.chunk_size))
chunk_bytes = P.file_size / chunks


def _ask(name: str, seconds, response_bytes=128) -> Node:
    """A call to the master, which answers from memory and logs the change without waiting."""
    return seq(
        cpu("client", P.client_call_cpu),
        call("master", name, cpu("master", seconds), request_bytes=128,
             response_bytes=response_bytes),
    )  # fmt: skip


def _blocks(size_bytes: Expr) -> tuple[Expr, Expr]:
    """(number, bytes) of the blocks that carry `size_bytes`."""
    blocks = Max(1, ceiling(size_bytes / P.block_size))
    return blocks, size_bytes / blocks


def _write_chunks(size_bytes: Expr) -> Node:
    """One stream of blocks, a chunk after the other, each through a chain of chunkservers."""
    blocks, block = _blocks(size_bytes)
    hop = send(
        "chunkserver",
        "writeData",
        cpu("chunkserver", P.block_cpu + block * P.server_byte_cpu),
        disk_write("chunkserver", P.flushed_share * block, "diskWrite", block / GATHERED_BYTES),
        size_bytes=block,
    )
    return seq(
        repeat(
            Max(1, ceiling(size_bytes / P.chunk_size)),
            _ask("writeChunk", P.update_cpu),
            _ask("writeEnd", P.update_cpu),
        ),
        pipeline(
            blocks,
            cpu("client", block * P.client_byte_cpu, "sendBlock"),
            repeat(P.goal, hop),
            name="chain",
        ),
    )


_read_block_count, _read_block = _blocks(chunk_bytes)
_from_disk = disk_read("chunkserver", _read_block, "diskRead", _read_block / AHEAD_BYTES)
_read_chunk = seq(
    _ask("readChunk", P.lookup_cpu),
    call(
        "chunkserver",
        "read",
        pipeline(
            _read_block_count,
            seq(
                choice((P.cold, _from_disk)),
                cpu("chunkserver", P.block_cpu + _read_block * P.server_byte_cpu, "readData"),
            ),
            send("client", "block", size_bytes=_read_block),
            cpu("client", _read_block * P.client_byte_cpu, "receiveBlock"),
            name="stream",
        ),
    ),
)

# Names of files are not kept by the kernel, so each operation looks its name up first.
_lookup = _ask("lookup", P.lookup_cpu)
_open = seq(_lookup, _ask("open", P.lookup_cpu), name="open")
_create = seq(_lookup, _ask("create", P.update_cpu), name="create")
_write = seq(striped(P.file_size, P.chunk_size, at_once, _write_chunks), name="write")

OPERATIONS = {
    "read": seq(_open, seq(repeat(chunks, _read_chunk), name="read")),
    "write": seq(_create, _write),
    "append": seq(_open, _write),
    "create": _create,
    "stat": seq(_lookup, name="stat"),
    "list": seq(
        _ask("readdir", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=64 * P.entries),
        name="list",
    ),
    "rename": seq(_lookup, _lookup, _ask("rename", P.update_cpu), name="rename"),
    "delete": seq(_lookup, _ask("unlink", P.update_cpu), name="delete"),
}
