"""Operations of PVFS: the manager says where, clients and servers move stripes directly.

These trees serve every model; `net.py` models reads and writes in the paper's detail.
"""

from __future__ import annotations

from sympy import Max, ceiling

from dfslab.filesystems.pvfs.facts import PARAMETERS as P
from dfslab.spec.operation import (
    Node,
    call,
    choice,
    cpu,
    disk_read,
    disk_write,
    later,
    par,
    pipeline,
    seq,
)

# Rounds over all servers; a file of few stripes is spread as if it were cut evenly.
wide = P.width
rounds = Max(1, ceiling(P.file_size / (P.width * P.stripe_size)))
stripe_bytes = P.file_size / (rounds * wide)


def _ask(name: str, seconds, response_bytes=256) -> Node:
    """One question to the manager."""
    return seq(
        cpu("client", P.client_call_cpu),
        call("manager", name, cpu("manager", seconds), response_bytes=response_bytes),
    )


_open = seq(_ask("lookup", P.manager_cpu), name="open")
_create = seq(_ask("create", P.update_cpu), name="create")
_served = cpu("server", P.request_cpu + stripe_bytes * P.server_byte_cpu)
_copied = cpu("client", wide * stripe_bytes * P.client_byte_cpu)

_read = pipeline(
    rounds,
    par(
        call("server", "read", seq(choice((P.cold, disk_read("server", stripe_bytes))), _served),
             response_bytes=stripe_bytes),
        copies=wide,
    ),
    _copied,
    name="read",
)  # fmt: skip

_written = pipeline(
    rounds,
    _copied,
    par(
        call("server", "write",
             seq(_served, later(disk_write("server", stripe_bytes), name="write-back")),
             request_bytes=stripe_bytes),
        copies=wide,
    ),
    name="write",
)  # fmt: skip

# Closing syncs the local files, whether the client asked for it or not (section 4.3).
_sync = call("server", "sync", disk_write("server", P.file_size / wide))
_close = seq(par(_sync, copies=wide), name="close")

OPERATIONS = {
    "read": seq(_open, _read),
    "write": seq(_create, _written, _close),
    "append": seq(_open, _written, _close),
    "create": _create,
    "stat": seq(_ask("getattr", P.manager_cpu), name="stat"),
    "list": seq(
        _ask("readdir", P.manager_cpu + P.entries * P.entry_cpu, response_bytes=300 * P.entries),
        name="list",
    ),
    "rename": seq(_ask("rename", P.update_cpu), name="rename"),
    "delete": seq(
        _ask("unlink", P.update_cpu),
        par(call("server", "remove", cpu("server", P.request_cpu)), copies=wide),
        name="delete",
    ),
}
