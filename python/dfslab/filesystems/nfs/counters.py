"""Reads the counters of NFS from `/proc/self/mountstats` or from the text of nfsstat. In
mountstats, each mount counts as one process.

A line of an operation in mountstats has the fields: calls, transmissions, major timeouts, bytes
sent, bytes received, and three sums of times in milliseconds. The sums are the times in the queue,
of the round trip, and of the whole call. From statvers=1.1 (Linux 5.3) on, the number of calls that
ended in an error follows. Source: net/sunrpc/stats.c, `rpc_clnt_show_stats`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfslab.filesystems.nfs import nfsstat
from dfslab.spec.systems.counter_format import (
    Counted,
    CounterFormat,
    Counters,
    NotUnderstood,
    amount,
)

SERVICE = "client"
DEVICE = re.compile(r"^device (\S+) mounted on (.+) with fstype (\S+)(?: statvers=(\S+))?\s*$")
OPERATION = re.compile(r"^\s*([A-Z][A-Z0-9_]*):\s+(\d[\d\s]*)$")
PER_OPERATION = "per-op statistics"
FIELDS = (8, 9)
MS_NS = 1_000_000
HEAD = re.compile(rb"^device \S+ mounted on .+ with fstype nfs", re.M)


def recognise(head: bytes) -> bool:
    """Returns whether the beginning of a file lists an NFS mount or has a table of nfsstat."""
    return HEAD.search(head) is not None or nfsstat.recognise(head)


def read(text: str, name: str) -> list[Counters]:
    """Returns the calls of every NFS mount since it was mounted. The bytes of a mount's calls are
    those sent and received on the network.

    If the text lists no mount, returns the calls in the tables of nfsstat. Raises NotUnderstood
    where the text is malformed.
    """
    if HEAD.search(text.encode()) is None:
        return nfsstat.read(text)
    found: dict[str, list[Counted]] = {}
    place, counts = "", False
    for line in text.splitlines():
        if device := DEVICE.match(line):
            place = f"{device[2]} ({device[1]})" if device[3].startswith("nfs") else ""
            counts = False
        elif line.strip() == PER_OPERATION:
            counts = bool(place)
        elif counts and (given := OPERATION.match(line)):
            rows = found.setdefault(place, [])
            if any(row.step == given[1] for row in rows):
                raise NotUnderstood(f"{place}: {given[1]} is there twice: keep one reading")
            rows += _rows(given[1], given[2].split())
    return [Counters(SERVICE, place, tuple(rows)) for place, rows in found.items() if rows]


def _rows(step: str, fields: list[str]) -> Iterator[Counted]:
    if len(fields) not in FIELDS:
        raise NotUnderstood(f"{step} has {len(fields)} fields, must be 8 or 9")
    counts = [int(amount(text, step)) for text in fields]
    calls, sent, received = counts[0], counts[3], counts[4]
    queue_ns, round_trip_ns, total_ns = (int(amount(text, step, MS_NS)) for text in fields[5:8])
    if not calls:
        return
    errors = counts[8] if len(counts) > 8 else 0
    yield Counted(step, calls, errors=errors, bytes=sent + received, total_ns=total_ns)
    yield Counted(f"{step} queue", calls, above=step, kind="queue", total_ns=queue_ns)
    yield Counted(f"{step} round trip", calls, above=step, total_ns=round_trip_ns)


FORMAT = CounterFormat("/proc/self/mountstats or nfsstat", recognise, read)
