"""Operations of NFS version 3: every request names its file by handle and is answered by itself.

The server keeps no open files: opening is a lookup, closing asks for nothing. UNSTABLE writes go
to the server's page cache, and COMMIT, sent by fsync, puts them on disk.
"""

from __future__ import annotations

from sympy import Expr, Max, ceiling

from dfslab.filesystems.nfs.facts import PARAMETERS as P
from dfslab.spec.operation import (
    Node,
    call,
    choice,
    cpu,
    disk_read,
    disk_write,
    hold_thread,
    later,
    repeat,
    seq,
    striped,
)


def _ask(
    name: str, *work: Node, client=P.client_call_cpu, request_bytes=256, response_bytes=256
) -> Node:
    """A request: one of the server's threads is held while it is worked on."""
    held = hold_thread("server", P.worker_count, seq(*work), name="handle")
    return seq(
        cpu("client", client),
        call("server", name, held, request_bytes=request_bytes, response_bytes=response_bytes),
    )


def _parts(size_bytes: Expr, request_size: Expr) -> tuple[Expr, Expr]:
    """(number, bytes) of the requests that carry `size_bytes`."""
    requests = Max(1, ceiling(size_bytes / request_size))
    return requests, size_bytes / requests


def _data_cpu(each: Expr) -> Node:
    return cpu("server", P.data_cpu + each * P.server_byte_cpu)


def _read_in_turn(size_bytes: Expr) -> Node:
    """One READ after the other."""
    requests, each = _parts(size_bytes, P.rsize)
    stored = choice((P.cold, disk_read("server", each, "diskRead")))
    return repeat(
        requests,
        _ask("READ", stored, _data_cpu(each), response_bytes=each,
             client=P.client_call_cpu + each * P.client_byte_cpu),
    )  # fmt: skip


def _write_in_turn(size_bytes: Expr) -> Node:
    """One WRITE after the other."""
    requests, each = _parts(size_bytes, P.wsize)
    stored = choice(
        (P.stable, disk_write("server", each, "diskWrite")),
        ((1 - P.stable) * (1 - P.fsync), later(disk_write("server", each), name="write-back")),
    )
    return repeat(
        requests,
        _ask("WRITE", _data_cpu(each), stored, request_bytes=each,
             client=P.client_call_cpu + each * P.client_byte_cpu),
    )  # fmt: skip


_lookup = _ask("LOOKUP", cpu("server", P.lookup_cpu))
_open = seq(_lookup, _ask("GETATTR", cpu("server", P.lookup_cpu)), name="open")
_create = seq(_lookup, _ask("CREATE", cpu("server", P.update_cpu)), name="create")
_read = seq(striped(P.file_size, P.rsize, P.in_flight, _read_in_turn), name="read")
_write = seq(striped(P.file_size, P.wsize, P.in_flight, _write_in_turn), name="write")
_unstable_bytes = (1 - P.stable) * P.file_size
_commit = seq(
    _ask("COMMIT", cpu("server", P.data_cpu), disk_write("server", _unstable_bytes, "flush")),
    name="fsync",
)
_fsync = choice((P.fsync, _commit))

OPERATIONS = {
    "read": seq(_open, _read),
    "write": seq(_create, _write, _fsync),
    "append": seq(_open, _write, _fsync),
    "create": _create,
    "stat": seq(_lookup, name="stat"),
    "list": seq(
        _ask("READDIRPLUS", cpu("server", P.lookup_cpu + P.entries * P.entry_cpu),
             response_bytes=200 * P.entries),
        name="list",
    ),
    "rename": seq(_ask("RENAME", cpu("server", P.update_cpu)), name="rename"),
    "delete": seq(_ask("REMOVE", cpu("server", P.update_cpu)), name="delete"),
}  # fmt: skip
