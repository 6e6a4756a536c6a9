"""Describes the operations of JuiceFS: transactions in a database, blocks as objects in a store.

The store is Redis, which answers from memory, so no operation waits for a disk. A block is sent
when it is full or the file is closed. Then its slice is committed to the database. The commands of
each transaction were observed on a running database (`redis-cli monitor`): one round trip each.
"""

from __future__ import annotations

from dfslab.filesystems.juicefs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Max, ceiling, named
from dfslab.spec.steps.operation import Expression, Node, call, cpu, pipeline, repeat, send, seq

blocks = named("blocks", Max(1, ceiling(P.file_size / P.block_size)))
block_bytes = named("block_bytes", P.file_size / blocks)


def _ask(name: str, seconds: Expression, response_bytes: Expression = 128) -> Node:
    """One command to the metadata database, which needs `seconds` of its processor."""
    return call(
        "meta", name, cpu("meta", seconds), request_bytes=128, response_bytes=response_bytes
    )


def _get(name: str) -> Node:
    """A command of the metadata database that only reads."""
    return _ask(name, P.lookup_cpu)


def _transaction(*reads: str) -> Node:
    """An optimistic transaction of the metadata database: it watches and reads keys, changes them
    atomically, and releases the watch. `reads` are the names of the reading commands.
    """
    return seq(
        _get("watch"), *(_get(name) for name in reads), _ask("exec", P.update_cpu), _get("unwatch")
    )


_called = cpu("client", P.client_call_cpu)
# A changed name invalidates the kernel's cache of its directory.
_directory = _get("getattr")

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
    send(
        "store",
        "putObject",
        cpu("store", P.object_cpu + block_bytes * P.store_byte_cpu),
        size_bytes=block_bytes,
    ),
    name="stream",
)

_found = seq(_called, _get("lookup"), _get("open"))
_open = seq(_found, _get("getattr"), name="open")
_create = seq(
    _called, _directory, _get("lookup"), _transaction("getInode", "getEntry"), name="create"
)
_commit = seq(_called, _transaction("getInode"), name="close")
_written = seq(_stream_out, name="write")

OPERATIONS = {
    "read": seq(_open, seq(_called, _get("readChunk"), _stream_in, name="read")),
    "write": seq(_create, _written, _commit),
    "append": seq(seq(_found, name="open"), _written, _commit),
    "create": _create,
    "stat": seq(_called, _get("lookup"), name="stat"),
    "list": seq(
        _called,
        repeat(3, _get("getattr")),
        _ask("scanEntries", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=40 * P.entries),
        _ask("getInodes", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=80 * P.entries),
        name="list",
    ),
    "rename": seq(
        _called,
        _directory,
        _get("lookup"),
        _get("lookup"),
        _transaction("getEntry", "getEntry", "watch", "getInodes"),
        name="rename",
    ),
    "delete": seq(
        _called,
        _directory,
        _get("lookup"),
        _transaction("getEntry", "watch", "getInodes"),
        name="delete",
    ),
}
