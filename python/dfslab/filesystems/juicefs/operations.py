"""Operations of JuiceFS: transactions in a database, blocks as objects in a store.

The store here is Redis, which answers from memory: no disk is waited for. A block is sent when it
is full or the file is closed; the slice is committed to the database then.
"""

from __future__ import annotations

from sympy import Max, ceiling

from dfslab.filesystems.juicefs.facts import PARAMETERS as P
from dfslab.spec.operation import Node, call, cpu, pipeline, send, seq

blocks = Max(1, ceiling(P.file_size / P.block_size))
block_bytes = P.file_size / blocks


def _ask(name: str, seconds, response_bytes=128) -> Node:
    """One transaction of the metadata database."""
    return seq(
        cpu("client", P.client_call_cpu),
        call("meta", name, cpu("meta", seconds), request_bytes=128,
             response_bytes=response_bytes),
    )  # fmt: skip


_stream_in = call(
    "store",
    "get",
    pipeline(
        blocks,
        cpu("store", P.object_cpu + block_bytes * P.store_byte_cpu, "getObject"),
        send("client", "object", size_bytes=block_bytes),
        cpu("client", block_bytes * P.client_byte_cpu, "copy"),
        name="stream",
    ),
)
_stream_out = pipeline(
    blocks,
    cpu("client", block_bytes * P.client_byte_cpu, "copy"),
    send("store", "putObject", cpu("store", P.object_cpu + block_bytes * P.store_byte_cpu),
         size_bytes=block_bytes),
    name="stream",
)  # fmt: skip

_open = seq(_ask("lookup", P.lookup_cpu), _ask("open", P.lookup_cpu), name="open")
_create = seq(_ask("lookup", P.lookup_cpu), _ask("create", P.update_cpu), name="create")
_commit = seq(_ask("writeSlice", P.update_cpu), name="close")
_written = seq(_stream_out, name="write")

OPERATIONS = {
    "read": seq(_open, seq(_ask("readChunk", P.lookup_cpu), _stream_in, name="read")),
    "write": seq(_create, _written, _commit),
    "append": seq(_open, _written, _commit),
    "create": _create,
    "stat": seq(_ask("lookup", P.lookup_cpu), name="stat"),
    "list": seq(
        _ask("readdir", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=120 * P.entries),
        name="list",
    ),
    "rename": seq(_ask("lookup", P.lookup_cpu), _ask("rename", P.update_cpu), name="rename"),
    "delete": seq(_ask("lookup", P.lookup_cpu), _ask("unlink", P.update_cpu), name="delete"),
}
