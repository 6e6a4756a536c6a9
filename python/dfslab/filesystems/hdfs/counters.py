"""Reads the counters of Hadoop's daemons from the JSON text that `http://NAMENODE:9870/jmx`
returns. The text has one or more beans.

For each type of call X, Hadoop's metrics (MutableStat) have two attributes:
- `XNumOps`: the number of calls since the daemon started
- `XAvgTime`: the mean time of a call in the last period.

Total time is estimated as XNumOps * XAvgTime, because the mean of earlier periods is unknown. The
text ESTIMATED in the names of the processes states this. Times are in nanoseconds if X ends in
Nanos, in microseconds if X ends in Micros, and otherwise in milliseconds.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from dfslab.spec.systems.counter_format import (
    CostClass,
    Counted,
    CounterFormat,
    Counters,
    NotUnderstood,
    amount,
)

Bean: TypeAlias = Mapping[str, object]
ESTIMATED = "times: means of the last period"
BEAN = re.compile(r"^Hadoop:service=(\w+),name=(.+)$")
HEAD = re.compile(rb'"name"\s*:\s*"Hadoop:service=')
PORT = re.compile(r"^Rpc(Detailed)?ActivityForPort(\d+)$")
CALLS, MEAN = "NumOps", "AvgTime"
PROCESSING = "RpcProcessingTime"
KINDS: dict[str, CostClass] = {
    "RpcQueueTime": "queue",
    "RpcLockWaitTime": "lock",
    PROCESSING: "service",
    "Syncs": "disk",
}
# Names of times that are parts of the processing time. A time is treated as such a part only if the
# processing time (PROCESSING) of the same port is also reported.
PARTS = ("RpcLockWaitTime",)
UNITS_NS = {"Nanos": 1.0, "Micros": 1e3}
MS_NS = 1e6


def recognise(head: bytes) -> bool:
    """Returns whether the beginning of a file contains beans of a Hadoop daemon."""
    return head.lstrip().startswith(b"{") and HEAD.search(head) is not None


def read(text: str, name: str) -> list[Counters]:
    """Returns the calls that each service counted at each of its ports. Raises NotUnderstood where
    the text is malformed."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotUnderstood(f"is no JSON: {error}") from error
    beans = table.get("beans") if isinstance(table, dict) else None
    if not isinstance(beans, list):
        raise NotUnderstood("has no list of beans")
    found: dict[tuple[str, str], list[Counted]] = {}
    for bean in sorted((one for one in beans if isinstance(one, dict)), key=_detailed_last):
        named = BEAN.match(str(bean.get("name")))
        if named is None:
            continue
        port = PORT.match(named[2])
        place = f"port {port[2]}" if port else named[2]
        rows = found.setdefault((named[1].lower(), place), [])
        rows += _rows(bean, port, {row.step for row in rows})
    return [
        Counters(service, f"{place} ({ESTIMATED})", tuple(rows))
        for (service, place), rows in found.items()
        if rows
    ]


def _detailed_last(bean: Bean) -> bool:
    return "RpcDetailed" in str(bean.get("name"))


def _rows(bean: Bean, port: re.Match[str] | None, known: set[str]) -> Iterator[Counted]:
    """Yields one row for each operation of a bean, and one for each component of an operation's
    time. A row has the number of calls and their total time. `known` has the names of the rows that
    were yielded for the same port before."""
    steps = [key.removesuffix(CALLS) for key in bean if key.endswith(CALLS)]
    here = [step for step in steps if f"{step}{MEAN}" in bean]
    # The row of an operation must precede the rows of the components of its time.
    for step in sorted(here, key=lambda one: one in PARTS):
        if step in known:
            raise NotUnderstood(f"{step} is there twice for one service and port")
        calls = int(_number(bean, f"{step}{CALLS}") or 0)
        if not calls:
            continue
        mean = _number(bean, f"{step}{MEAN}")
        unit_ns = next((ns for end, ns in UNITS_NS.items() if step.endswith(end)), MS_NS)
        above = ""
        if PROCESSING in known and (step in PARTS or (port and port[1])):
            above = PROCESSING
        known.add(step)
        yield Counted(
            step,
            calls,
            above,
            KINDS.get(step, "service" if port else "detail"),
            bytes=_transferred(bean) if step == PROCESSING else 0,
            total_ns=None if mean is None else round(mean * calls * unit_ns),
        )


def _transferred(bean: Bean) -> int:
    return sum(int(_number(bean, key) or 0) for key in ("ReceivedBytes", "SentBytes"))


def _number(bean: Bean, key: str) -> float | None:
    """Returns the value of an attribute. Returns None if the attribute is missing or is NaN. The
    mean time is NaN if there were no calls."""
    value = bean.get(key)
    if value is None or value == "NaN" or (isinstance(value, float) and math.isnan(value)):
        return None
    return amount(str(value), key)


FORMAT = CounterFormat("http://NAMENODE:9870/jmx", recognise, read)
