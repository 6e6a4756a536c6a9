"""Reads the counters of Lustre's clients and servers: the output of `lctl get_param '*.*.*stats'`
and `*.*.job_stats`.

Each line of `stats` has the fields: name, "N samples", [unit]. If the unit is one of time or bytes,
the line also has the smallest value, the largest value, the sum and the sum of squares. `job_stats`
has the same numbers for each job. Source: lustre/obdclass/lprocfs_status.c and lprocfs_jobstats.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dfslab.spec.systems.counter_format import (
    Counted,
    CounterFormat,
    Counters,
    NotUnderstood,
    amount,
)

PARAMETER = re.compile(r"^([A-Za-z]\S*\.\S+)=\s*(?:job_stats:\s*)?$")
JOB = re.compile(r"^- job_id:\s+(.+?)\s*$")
LINE = re.compile(r"^(\w+)\s+(\d+) samples \[([^\]]+)\](.*)$")
ENTRY = re.compile(r"^\s+(\w+):\s+\{\s*(samples:.*)\}\s*$")
PAIR = re.compile(r"(\w+):\s*([^,{}\s]+)")
HEAD = re.compile(rb"^snapshot_time:?\s+\d+(?:\.\d+)?(?:\s+secs\.[nu]secs)?\s*$|^job_stats:", re.M)
# Number of nanoseconds in each unit of time. Any other unit is a unit of counts or sizes.
TIMES_NS = {"nsec": 1, "nsecs": 1, "usec": 1000, "usecs": 1000, "msec": 10**6, "msecs": 10**6}
BYTES, COUNTS = ("bytes",), ("reqs", "regs", "req", "pages", "locks", "bufs", "events")
OF_BYTES = "_bytes"


@dataclass(frozen=True)
class _LustreCounter:
    """One counter of Lustre.

    `count` is the number of samples. `least` is the smallest sample, `most` the largest, and
    `total` the sum of all samples. The fields `least`, `most` and `total` are texts with a number
    in `unit`; "" if Lustre did not report the number.
    """

    name: str
    count: int
    unit: str
    least: str = ""
    most: str = ""
    total: str = ""


def recognise(head: bytes) -> bool:
    """Returns whether `head`, the beginning of a file, is from Lustre's `stats` or `job_stats`."""
    return HEAD.search(head) is not None and (b" samples [" in head or b"samples:" in head)


def read(text: str, name: str) -> list[Counters]:
    """Returns the counters of every Lustre parameter, such as `mdt.NAME.md_stats`, and of every
    job.

    If the text has no parameter names, the process is named after the file that has the text
    (`name`). Raises NotUnderstood where the text is malformed.
    """
    found: dict[str, list[_LustreCounter]] = {}
    parameter, place = "", name
    for line in text.splitlines():
        if given := PARAMETER.match(line):
            parameter = place = given[1]
        elif job := JOB.match(line):
            place = f"{parameter or name} {job[1]}"
        elif sample := _sample(line):
            samples = found.setdefault(place, [])
            if any(one.name == sample.name for one in samples):
                raise NotUnderstood(f"{place}: {sample.name} is there twice: keep one reading")
            samples.append(sample)
    return [
        Counters(_service(place), place, tuple(_rows(samples))) for place, samples in found.items()
    ]


def _service(place: str) -> str:
    """Returns the role of the process that has a counter, such as "client" or "ost".

    `place` begins with the name of the counter's parameter, such as `mdt.NAME.md_stats`. The part
    before the first dot determines the role. If this part is unknown, the result is "process".
    """
    role = place.partition(".")[0]
    return {"llite": "client", "mdt": "mdt", "mds": "mdt", "obdfilter": "ost", "ost": "ost"}.get(
        role, "process"
    )


def _sample(line: str) -> _LustreCounter | None:
    if row := LINE.match(line):
        values = (*row[4].split(), "", "", "")
        return _LustreCounter(row[1], int(amount(row[2], row[1])), row[3], *values[:3])
    if entry := ENTRY.match(line):
        # An entry may contain a histogram, whose keys are numbers. These keys are omitted.
        fields = {key: value for key, value in PAIR.findall(entry[2]) if not key.isdigit()}
        count = int(amount(fields.get("samples", ""), entry[1]))
        wanted = [fields.get(key, "") for key in ("min", "max", "sum")]
        return _LustreCounter(entry[1], count, fields.get("unit", "reqs"), *wanted)
    return None


def _rows(samples: Sequence[_LustreCounter]) -> Iterator[Counted]:
    """Yields one row for each counter whose count is not 0. A counter of bytes is merged into the
    row of its operation, if there is one. Raises NotUnderstood for an unknown unit."""
    sizes = {one.name: one for one in samples if one.unit in BYTES}
    names = {one.name for one in samples}
    for one in samples:
        if not one.count:
            continue
        if one.unit in BYTES:
            if one.name.removesuffix(OF_BYTES) not in names - {one.name}:
                yield Counted(one.name, one.count, bytes=_sum(one))
            continue
        if one.unit not in (*COUNTS, *TIMES_NS):
            known = ", ".join((*COUNTS, *BYTES, *TIMES_NS))
            raise NotUnderstood(f"{one.name}: unit {one.unit[:20]!r}, must be one of {known}")
        moved = sizes.get(one.name + OF_BYTES)
        scale = TIMES_NS.get(one.unit)
        least, most, total = (
            round(amount(text, one.name, scale)) if scale and text else None
            for text in (one.least, one.most, one.total)
        )
        size = _sum(moved) if moved else 0
        yield Counted(one.name, one.count, bytes=size, total_ns=total, min_ns=least, max_ns=most)


def _sum(one: _LustreCounter) -> int:
    return int(amount(one.total, one.name)) if one.total else 0


FORMAT = CounterFormat("lctl get_param *.*.stats or *.*.job_stats", recognise, read)
