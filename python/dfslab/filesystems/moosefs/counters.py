"""Reads the counters of a MooseFS client from the `.stats` of its mount: numbers of calls by type,
without times.
"""

from __future__ import annotations

import re

from dfslab.spec.systems.counter_format import Counted, CounterFormat, Counters, NotUnderstood

# A line of counters, such as "fuse_ops.lookup.master.error: 3". A value in brackets is a gauge, not
# a count.
LINE = re.compile(r"([a-z_]+)((?:\.[\w#+-]+)*): (\[)?(-?\d+)\]?")
CALLS = "fuse_ops"
MOST = 1 << 62


def recognise(head: bytes) -> bool:
    """Returns whether `head`, the beginning of a file, is a `.stats` listing."""
    return head.startswith(b"fuse_ops: ")


def read(text: str, name: str) -> list[Counters]:
    """Returns one client's calls. Only `name`, the file's name, identifies the client. Raises
    NotUnderstood where the text is malformed."""
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        reported = LINE.fullmatch(line.strip())
        if reported is None or not 0 <= int(reported[4]) < MOST:
            raise NotUnderstood(f"line {number} is no name and count: {line[:60]!r}")
        if reported[3] is None:
            counts[reported[1] + reported[2]] = int(reported[4])
    rows = []
    for key, count in counts.items():
        parent, _, _ = key.rpartition(".")
        if key == CALLS or not key.startswith(f"{CALLS}.") or not count:
            continue
        step = key.removeprefix(f"{CALLS}.")
        above = "" if parent == CALLS else parent.removeprefix(f"{CALLS}.")
        errors = counts.get(f"{key}.error", 0)
        rows.append(
            Counted(
                step,
                count,
                above if counts.get(parent) else "",
                "detail" if above else "service",
                errors=errors,
            )
        )
    rows += [
        Counted(
            f"packets {way} (master)",
            packets,
            kind="detail",
            bytes=counts.get(f"master.bytes_{way}", 0),
        )
        for way in ("sent", "received")
        if (packets := counts.get(f"master.packets_{way}", 0))
    ]
    return [Counters("client", name, tuple(rows))] if rows else []


FORMAT = CounterFormat("MOUNT/.stats", recognise, read)
