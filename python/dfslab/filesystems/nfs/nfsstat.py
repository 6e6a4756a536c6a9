"""Reads the text of nfsstat: calls of an NFS client or server since its start. nfsstat reports no
times."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfslab.spec.systems.counter_format import Counted, Counters, NotUnderstood, amount

HEADING = re.compile(r"^(Client|Server) nfs (v[234](?:\.\d)?(?: \w+)?):?\s*$", re.I)
HEAD = re.compile(rb"^(?:Client|Server) nfs v[234]", re.M | re.I)
VALUES = re.compile(r"(\d+)\s+\d+%")


def recognise(head: bytes) -> bool:
    """Returns whether the beginning of a file has a table of nfsstat."""
    return HEAD.search(head) is not None


def read(text: str) -> list[Counters]:
    """Returns the counters of every table; each table counts as a separate process. Raises
    NotUnderstood if a line of names and its line of counts differ in length."""
    found: list[Counters] = []
    names: list[str] = []
    service, instance, rows = "", "", list[Counted]()
    for line in [*text.splitlines(), "end:"]:
        if line.rstrip().endswith(":") or HEADING.match(line):
            if rows:
                found.append(Counters(service, instance, tuple(rows)))
            heading = HEADING.match(line)
            service = heading[1].lower() if heading else ""
            instance, rows, names = f"nfs {heading[2]}" if heading else "", [], []
        elif service and "%" in line:
            rows += _rows(names, VALUES.findall(line))
            names = []
        elif service and line.strip():
            names = line.split()
    return found


def _rows(names: list[str], counts: list[str]) -> Iterator[Counted]:
    if len(names) != len(counts):
        raise NotUnderstood(f"{len(names)} names ({' '.join(names)[:40]}), {len(counts)} numbers")
    for name, count in zip(names, counts, strict=True):
        if calls := int(amount(count, name)):
            yield Counted(name.upper(), calls)
