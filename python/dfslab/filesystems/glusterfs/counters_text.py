"""Reads the counters of GlusterFS' bricks from the text output of `gluster volume profile VOLUME
info`, without `--xml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dfslab.spec.systems.counter_format import NotUnderstood, amount

BRICK = re.compile(r"^Brick:\s+(\S.*?)\s*$")
PART = re.compile(r"^\s*(Cumulative|Interval \d+)\s+Stats:")
SIZES = re.compile(r"^\s*Block Size\s*:\s*(\d.*)$")
COUNTS = re.compile(r"^\s*(?:No\. of )?(Read|Write)s?\s*:\s*(\d.*)$")
MOVED = re.compile(r"^\s*(?:Data ?|Bytes)(Read|Written)\s*:\s*(\S+)(?:\s+(\S+))?\s*$")
# A line of an operation has these columns: the operation's share of the total latency; its average,
# smallest and largest latency, each with a unit; the number of calls; the name of the operation.
LATENCY = r"(\S+)(?:[ \t]+([num]?s))?"
FOP = re.compile(rf"^\s*[\d.]+\s+{LATENCY}\s+{LATENCY}\s+{LATENCY}\s+(\d+)\s+([A-Z][A-Z0-9_]*)\s*$")
# Releases before 3.6 print no unit. Their io-stats translator counts microseconds.
UNITS_NS = {None: 1e3, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
HEAD = re.compile(rb"^Brick:[ \t]+\S.*\r?\n-+\s*\r?\n\s*(?:Cumulative|Interval \d+) Stats:", re.M)


@dataclass(frozen=True)
class TextFop:
    """Calls of one operation: their number, and their latencies in ns."""

    name: str
    calls: int
    mean_ns: float
    min_ns: float
    max_ns: float


@dataclass
class TextBrick:
    """The counters of one brick.

    `sizes` has one table for reads and one for writes. A table maps the smallest block size of a
    range of sizes, in bytes, to the number of calls with a size in this range.
    """

    name: str
    fops: list[TextFop] = field(default_factory=list)
    read_bytes: int = 0
    written_bytes: int = 0
    sizes: dict[str, dict[int, int]] = field(default_factory=lambda: {"Read": {}, "Write": {}})


def recognise(head: bytes) -> bool:
    """Returns whether the beginning of a file is a volume profile as text."""
    return HEAD.search(head) is not None


def bricks(text: str) -> list[TextBrick]:
    """Returns the counters of every brick since counting started. If the text has no cumulative
    counters, the counters are those of the first interval. Raises NotUnderstood where the text is
    malformed."""
    found = [_brick(name, lines) for name, lines in _parts(text)]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise NotUnderstood(f"brick {name} is there {names.count(name)} times: keep one")
    return found


def _parts(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yields the name of each brick with the lines of its first section of counters. If the text
    has a cumulative section and a section for an interval, the cumulative section is the first."""
    name, parts, lines = "", 0, list[str]()
    for line in text.splitlines():
        if brick := BRICK.match(line):
            if lines:
                yield name, lines
            name, parts, lines = brick[1], 0, []
        elif PART.match(line):
            parts += 1
        elif parts == 1:
            lines.append(line)
    if lines:
        yield name, lines


def _brick(name: str, lines: list[str]) -> TextBrick:
    found, sizes = TextBrick(name), list[int]()
    for line in lines:
        if given := SIZES.match(line):
            sizes = [int(amount(one.rstrip("b+"), "Block Size")) for one in given[1].split()]
        elif counted := COUNTS.match(line):
            counts = [int(amount(one, counted[1])) for one in counted[2].split()]
            if len(counts) != len(sizes):
                raise NotUnderstood(f"brick {name}: {line.strip()!r} has not one count a size")
            found.sizes[counted[1]] |= dict(zip(sizes, counts, strict=True))
        elif moved := MOVED.match(line):
            if moved[3] not in (None, "bytes"):
                raise NotUnderstood(f"brick {name}: unit {moved[3]!r}, must be bytes")
            size = int(amount(moved[2], "Data " + moved[1]))
            if moved[1] == "Read":
                found.read_bytes = size
            else:
                found.written_bytes = size
        elif fop := FOP.match(line):
            found.fops.append(_fop(fop))
        elif "%" not in line and line.strip()[:1].isdigit():
            raise NotUnderstood(f"brick {name}: {line.strip()[:60]!r} is no row of an operation")
    return found


def _fop(row: re.Match[str]) -> TextFop:
    times = [amount(row[at], row[8], UNITS_NS[row[at + 1]]) for at in (1, 3, 5)]
    return TextFop(row[8], int(amount(row[7], row[8])), *times)
