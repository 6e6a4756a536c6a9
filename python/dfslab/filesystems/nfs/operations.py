"""Describes the operations of NFS version 3: every call goes to the one server, one call after the
other.

The client caches nothing and has one call in flight. The server's kernel reads ahead and writes
back, so only COMMIT waits for the disk.
"""

from __future__ import annotations

from dfslab.filesystems.nfs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Max, Min, ceiling, named
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    call,
    cpu,
    disk_read,
    disk_write,
    later,
    par,
    repeat,
    seq,
    when,
)

requests = named("requests", Max(1, ceiling(P.file_size / Min(P.request_size, P.transfer_size))))
request_bytes = named("request_bytes", P.file_size / requests)


def _ask(name: str, seconds: Expression, response_bytes: Expression = 256) -> Node:
    """One call to the server, which needs `seconds` of its processor, and its answer."""
    return seq(
        cpu("client", P.client_call_cpu),
        call("server", name, cpu("server", seconds), response_bytes=response_bytes),
    )


# A READ is sent when the previous READ has been answered. Meanwhile the disk reads ahead.
_read = par(
    repeat(
        requests,
        cpu("client", P.client_call_cpu + request_bytes * P.client_byte_cpu),
        call(
            "server",
            "READ",
            cpu("server", P.data_cpu + request_bytes * P.server_byte_cpu),
            response_bytes=request_bytes,
        ),
    ),
    when(P.cold, call("server", "readAhead", disk_read("server", P.file_size))),
    name="read",
)

_write = seq(
    repeat(
        requests,
        cpu("client", P.client_call_cpu + request_bytes * P.client_byte_cpu),
        call(
            "server",
            "WRITE",
            cpu("server", P.data_cpu + request_bytes * P.server_byte_cpu),
            later(disk_write("server", request_bytes), name="write-back"),
            request_bytes=request_bytes,
        ),
    ),
    name="write",
)

_commit = when(
    P.fsync, seq(call("server", "COMMIT", disk_write("server", P.file_size)), name="fsync")
)

_lookup = _ask("LOOKUP", P.lookup_cpu)
_open = seq(_lookup, name="open")
_create = seq(_ask("CREATE", P.update_cpu), name="create")

OPERATIONS = {
    "read": seq(_open, _read),
    "write": seq(_create, _write, _commit),
    "append": seq(_open, _write, _commit),
    "create": _create,
    "stat": seq(_lookup, name="stat"),
    "list": seq(
        _ask("READDIR", P.lookup_cpu + P.entries * P.entry_cpu, response_bytes=100 * P.entries),
        name="list",
    ),
    "rename": seq(_ask("RENAME", P.update_cpu), name="rename"),
    "delete": seq(_ask("REMOVE", P.update_cpu), name="delete"),
}
