"""Describes the operations of NFS version 3: all calls go to one server, one after another.

The client caches nothing and has one call in flight. The server's kernel reads ahead and writes
back, so that only COMMIT waits for the disk. The kernel does neither if I/O is direct, synchronous
or random.
"""

from __future__ import annotations

from dfslab.filesystems.nfs.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Max, Min, ceiling, named
from dfslab.spec.steps.heads import FORCED_SEEKS, seeks_of, seeks_of_unit, uncached_s
from dfslab.spec.steps.operation import (
    Expression,
    Node,
    call,
    cpu,
    disk_read,
    disk_use,
    disk_write,
    either,
    later,
    par,
    repeat,
    seq,
    when,
)

requests = named("requests", Max(1, ceiling(P.file_size / Min(P.request_size, P.transfer_size))))
request_bytes = named("request_bytes", P.file_size / requests)
uncached = P.direct | P.cold


def _ask(name: str, seconds: Expression, response_bytes: Expression = 256) -> Node:
    """Returns the step in which the client calls the server. The call needs `seconds` of the
    server's processor and is answered with `response_bytes`."""
    return seq(
        cpu("client", P.client_call_cpu),
        call("server", name, cpu("server", seconds), response_bytes=response_bytes),
    )


def _reads(*work: Node) -> Node:
    """Returns the step that sends all READ requests of a file. `work` is the server's work for each
    request."""
    return repeat(
        requests,
        cpu("client", P.client_call_cpu + request_bytes * P.client_byte_cpu),
        call(
            "server",
            "READ",
            cpu("server", P.data_cpu + request_bytes * P.server_byte_cpu),
            *work,
            response_bytes=request_bytes,
        ),
    )


# The client sends a READ when the previous READ has been answered. If `_turns` is true, the server
# does not read ahead, so READs and disk reads take turns. `_turns` is true if access is random, or
# if I/O is direct, for which neither the client nor the server caches data.
_turns = P.scattered | P.direct
_from_disk = disk_use("server", request_bytes, "read", uncached_s("server", requests))
_read = seq(
    either(
        _turns,
        _reads(when(uncached, _from_disk)),
        par(_reads(), when(P.cold, call("server", "readAhead", disk_read("server", P.file_size)))),
    ),
    name="read",
)

# A synchronous WRITE (stable = FILE_SYNC) is answered when its data is on disk.
_stored = either(
    P.forced,
    disk_write("server", request_bytes, seeks=FORCED_SEEKS),
    either(
        P.direct | P.server_write_through,
        disk_use("server", request_bytes, "write", uncached_s("server", requests)),
        when(
            ~P.fsync,
            later(
                disk_write("server", request_bytes, seeks=seeks_of_unit(requests, request_bytes)),
                name="write-back",
            ),
        ),
    ),
)

_write = seq(
    repeat(
        requests,
        cpu("client", P.client_call_cpu + request_bytes * P.client_byte_cpu),
        call(
            "server",
            "WRITE",
            cpu("server", P.data_cpu + request_bytes * P.server_byte_cpu),
            _stored,
            request_bytes=request_bytes,
        ),
    ),
    name="write",
)

_committed = disk_write("server", P.file_size, seeks=seeks_of(P.file_size))
_commit = when(
    P.fsync & ~P.forced,
    seq(
        call("server", "COMMIT", when(~(P.direct | P.server_write_through), _committed)),
        name="fsync",
    ),
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
