"""Operations of JuiceFS: names are records of a database, data are blocks in an object store.

A change is an optimistic transaction of the metadata engine (Redis): watch, read, execute. Written
data are cut into chunks of 64 MiB and blocks of 4 MiB; blocks are uploaded side by side, and when
all of a chunk's are in the store its slice is recorded. Closing a file waits for that, so fsync
adds nothing.
"""

from __future__ import annotations

from sympy import Expr, Max, ceiling

from dfslab.filesystems.juicefs.facts import PARAMETERS as P
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

chunks = Max(1, ceiling(P.file_size / P.chunk_size))


def _ask(name: str, seconds=P.lookup_cpu, response_bytes=256) -> Node:
    """One command to the metadata engine."""
    return call("meta", name, cpu("meta", seconds), response_bytes=response_bytes)


def _change(name: str) -> Node:
    """A transaction: what it read must not have changed when it is executed."""
    return seq(
        cpu("client", P.client_call_cpu), _ask("watch"), _ask("read"), _ask(name, P.update_cpu)
    )


def _blocks(size_bytes: Expr) -> tuple[Expr, Expr]:
    """(number, bytes) of the blocks that carry `size_bytes`."""
    blocks = Max(1, ceiling(size_bytes / P.block_size))
    return blocks, size_bytes / blocks


def _upload(size_bytes: Expr) -> Node:
    """One of the uploads that go on side by side, a block after the other."""
    blocks, block = _blocks(size_bytes)
    return pipeline(
        blocks,
        cpu("client", block * P.client_byte_cpu, "cut"),
        send("store", "put", cpu("store", P.block_cpu + block * P.store_byte_cpu),
             choice((P.store_on_disk, disk_write("store", block, "diskWrite"))),
             size_bytes=block),
        send("client", "stored", size_bytes=256),
        name="upload",
    )  # fmt: skip


def _fetch(size_bytes: Expr) -> Node:
    """One of the fetches that go on side by side, a block after the other."""
    blocks, block = _blocks(size_bytes)
    stream = pipeline(
        blocks,
        seq(
            choice((P.cold * P.store_on_disk, disk_read("store", block, "diskRead"))),
            cpu("store", P.block_cpu + block * P.store_byte_cpu, "get"),
        ),
        send("client", "block", size_bytes=block),
        cpu("client", block * P.client_byte_cpu, "receiveBlock"),
        name="fetch",
    )
    return call("store", "get", stream)


_lookup = seq(cpu("client", P.client_call_cpu), _ask("lookup"))
_open = seq(_lookup, seq(cpu("client", P.client_call_cpu), _ask("getAttributes")), name="open")
_create = seq(_lookup, _change("create"), name="create")
_write = seq(
    striped(P.file_size, P.block_size, P.max_uploads, _upload),
    repeat(chunks, _change("writeSlice")),
    name="write",
)

OPERATIONS = {
    "read": seq(
        _open,
        seq(
            repeat(chunks, _ask("readSlices")),
            striped(P.file_size, P.block_size, 1 + P.prefetch, _fetch),
            name="read",
        ),
    ),
    "write": seq(_create, _write),
    "append": seq(_open, _write),
    "create": _create,
    "stat": seq(_lookup, name="stat"),
    "list": seq(
        cpu("client", P.client_call_cpu),
        _ask("readdir", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=150 * P.entries),
        name="list",
    ),
    "rename": seq(_lookup, _lookup, _change("rename"), name="rename"),
    "delete": seq(_lookup, _change("unlink"), name="delete"),
}
