"""Describes the operations of JuiceFS: transactions in a database, blocks as objects in a store.

The store is Redis, which keeps objects in memory, so no operation waits for a disk. The client
sends a block to the store when the block is full or the file is closed. Then the client commits the
slice to the database; a slice is the record of a written range of the file. The commands of each
transaction were observed on a running database (`redis-cli monitor`). Each command takes one round
trip.
"""

from __future__ import annotations

from dfslab.filesystems.juicefs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, expression, named, select
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    at,
    call,
    cpu,
    either,
    pipeline,
    repeat,
    reply,
    send,
    seq,
)
from dfslab.spec.steps.read_ahead import windows_of

blocks = named("blocks", Max(1, ceiling(P.file_size / P.block_size)))
block_bytes = named("block_bytes", P.file_size / blocks)


def _ask(name: str, seconds: Expression, response_bytes: Expression = 128) -> Node:
    """Returns the step in which the client sends one command to the metadata database. The command
    needs `seconds` of the database's processor and is answered with `response_bytes`."""
    return seq(
        cpu("client", P.client_command_cpu),
        call("meta", name, cpu("meta", seconds), request_bytes=128, response_bytes=response_bytes),
    )


def _get(name: str) -> Node:
    """Returns the step of a command that only reads from the metadata database."""
    return _ask(name, P.lookup_cpu)


def _transaction(*reads: str) -> Node:
    """Returns the step of an optimistic transaction in the metadata database.

    The transaction watches keys, reads them, changes them atomically, and ends the watch. `reads`
    has the names of the commands that read the keys.
    """
    return seq(
        _get("watch"), *(_get(name) for name in reads), _ask("exec", P.update_cpu), _get("unwatch")
    )


# Most bytes of one FUSE request.
REQUEST_BYTES = 131072


def _requests(count: Expression) -> Node:
    """Returns the step in which the client's process serves `count` FUSE requests."""
    return cpu("client", count * P.client_call_cpu)


_called = _requests(1)
# The client reads a directory's attributes again after a name in the directory has changed, because
# the kernel then no longer uses the attributes in its cache.
_directory = _get("getattr")


def _stream_in(units: Expr, each: Expr) -> Node:
    """Returns the step that reads `units` objects (or parts of objects) of `each` bytes from the
    object store."""
    return call(
        "store",
        "get",
        pipeline(
            units,
            cpu("store", P.object_cpu + each * P.store_byte_cpu, "getObject"),
            send("client", "object", size_bytes=each),
            cpu("client", each * P.client_byte_cpu, "copy"),
            name="stream",
        ),
    )


def _stream_out(units: Expr, each: Expr) -> Node:
    """Returns the step that writes `units` objects of `each` bytes to the object store."""
    return pipeline(
        units,
        cpu("client", each * P.client_byte_cpu, "copy"),
        send(
            "store",
            "putObject",
            cpu("store", P.object_cpu + each * P.store_byte_cpu),
            size_bytes=each,
        ),
        name="stream",
    )


# With random access or without the kernel's cache, every call is a separate request to the store.
# `calls` is the number of calls for a file, and `call_bytes` is the size of each. No call is larger
# than a block. A file that is smaller than a block is an exception: its first read fetches the
# whole file. The client's process then answers the other reads from a buffer (JuiceFS
# documentation, "Read buffer").
calls = named("calls", Max(1, ceiling(P.file_size / Min(P.transfer_size, P.block_size))))
call_bytes = named("call_bytes", P.file_size / calls)
_call_requests = Max(1, ceiling(call_bytes / REQUEST_BYTES))
_one_by_one = P.scattered | P.direct
_read = either(
    _one_by_one & (P.file_size >= P.block_size),
    repeat(calls, _requests(_call_requests), _stream_in(expression(1), call_bytes)),
    seq(
        _requests(select(_one_by_one, calls * _call_requests, windows_of(P.file_size))),
        _stream_in(blocks, block_bytes),
    ),
)

# The kernel sends two FUSE requests: one to look a name up, and one to open the file.
_found = seq(_called, _get("lookup"), _called, _get("open"))
_open = seq(_found, _get("getattr"), name="open")
_create = seq(
    repeat(2, _called),
    _directory,
    _get("lookup"),
    _transaction("getInode", "getEntry"),
    name="create",
)
_committed = _transaction("getInode")
_commit = seq(_called, _committed, name="close")
_close = seq(_called, name="close")
_kernel_writes = named("kernel_writes", P.file_size / Min(P.transfer_size, REQUEST_BYTES))
# A synchronous write call ends its slice. The call returns when the object is in the store and the
# slice is committed to the database.
_written = seq(
    _requests(Max(1, ceiling(_kernel_writes))),
    either(
        P.forced,
        repeat(
            calls,
            _stream_out(expression(1), call_bytes),
            at("store", reply("client", size_bytes=128, name="stored")),
            _committed,
        ),
        _stream_out(blocks, block_bytes),
    ),
    name="write",
)

OPERATIONS = {
    "read": seq(_open, seq(_get("readChunk"), _read, name="read"), _close),
    "write": seq(_create, _written, _commit),
    "append": seq(seq(_found, name="open"), _written, _commit),
    "create": seq(_create, _close),
    "stat": seq(_called, _get("lookup"), name="stat"),
    "list": seq(
        _called,
        repeat(3, _get("getattr")),
        _ask("scanEntries", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=40 * P.entries),
        _ask("getInodes", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=80 * P.entries),
        name="list",
    ),
    "rename": seq(
        repeat(3, _called),
        _directory,
        _get("lookup"),
        _get("lookup"),
        _transaction("getEntry", "getEntry", "watch", "getInodes"),
        name="rename",
    ),
    "delete": seq(
        repeat(2, _called),
        _directory,
        _get("lookup"),
        _transaction("getEntry", "watch", "getInodes"),
        name="delete",
    ),
}
