"""Reads the counters of Ceph's OSDs and metadata servers, from the output of `ceph daemon NAME perf
dump`.

A counter of times has the fields `avgcount`, `sum` (seconds) and `avgtime`. A counter of sizes has
no `avgtime` and is skipped. The time of one counter may include the time of another; KNOWN states
for which counters this is so. A counter of times that is not in KNOWN is only reported as detail
and is not ranked. The exceptions are the counters of the latencies of metadata requests. There is
one such counter for each type of request.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from dfslab.spec.systems.counter_format import (
    CostClass,
    Counted,
    CounterFormat,
    Counters,
    NotUnderstood,
)

# What is known of a counter of times, as a triple:
# - the name of the counter whose times include the times of this counter ("" for none),
# - the cost class of the times (such as "disk"),
# - the names of the counters of bytes for the same calls.
Known = tuple[str, CostClass, tuple[str, ...]]
KNOWN: dict[str, Known] = {
    "osd.op_before_queue_op_lat": ("", "service", ()),
    "osd.op_before_dequeue_op_lat": ("", "queue", ()),
    "osd.op_r_latency": ("", "service", ("op_r_out_bytes",)),
    "osd.op_r_prepare_latency": ("osd.op_r_latency", "service", ()),
    "osd.op_w_latency": ("", "service", ("op_w_in_bytes",)),
    "osd.op_w_prepare_latency": ("osd.op_w_latency", "service", ()),
    "osd.op_rw_latency": ("", "service", ("op_rw_in_bytes", "op_rw_out_bytes")),
    "osd.op_rw_prepare_latency": ("osd.op_rw_latency", "service", ()),
    "osd.subop_w_latency": ("", "service", ("subop_w_in_bytes",)),
    "osd.subop_pull_latency": ("", "service", ()),
    "osd.subop_push_latency": ("", "service", ("subop_push_in_bytes",)),
    "bluestore.commit_lat": ("", "service", ()),
    "bluestore.state_prepare_lat": ("bluestore.commit_lat", "service", ()),
    "bluestore.state_aio_wait_lat": ("bluestore.commit_lat", "disk", ()),
    "bluestore.state_io_done_lat": ("bluestore.commit_lat", "queue", ()),
    "bluestore.state_kv_queued_lat": ("bluestore.commit_lat", "queue", ()),
    "bluestore.state_kv_commiting_lat": ("bluestore.commit_lat", "disk", ()),
    "bluestore.read_lat": ("", "service", ()),
    # This counter is not a part of `bluestore.read_lat`. The counter also includes waits for the
    # metadata of objects when no object is read.
    "bluestore.read_wait_aio_lat": ("", "disk", ()),
    "mds_log.jlat": ("", "disk", ()),
}
# How the names of counters of metadata requests begin and end. There is one such counter for each
# type of request.
REQUEST = ("mds_server.req_", "_latency")
SERVICES = {"osd": "osd", "mds": "mds", "mds_server": "mds"}
# Limits of a sum in seconds and of a count. Larger values are rejected as invalid.
MOST_S, MOST_CALLS = 1e9, 1 << 62


def recognise(head: bytes) -> bool:
    """Returns whether a file is a perf dump of Ceph, given `head`, the beginning of the file. A
    perf dump has many counters with the keys "avgcount" and "sum"."""
    return head.lstrip().startswith(b"{") and b'"avgcount"' in head and b'"sum"' in head


def read(text: str, name: str) -> list[Counters]:
    """Returns the counters of one daemon since its start, read from the text of a perf dump. The
    text does not name the daemon, so `name`, the name of the file, identifies it. Raises
    NotUnderstood if the text is malformed."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotUnderstood(f"is no JSON: {error}") from error
    rows: list[Counted] = []
    if not isinstance(table, dict):
        raise NotUnderstood("is no object of sections")
    for section, counters in table.items():
        for counter, reported in counters.items() if isinstance(counters, dict) else ():
            if isinstance(reported, dict) and "avgtime" in reported:
                rows += _counted(f"{section}.{counter}", reported, counters)
    found = {row.step for row in rows}
    order = {step: place for place, step in enumerate(KNOWN)}
    rows.sort(key=lambda row: order.get(row.step, len(order)))
    service = next((SERVICES[key] for key in SERVICES if key in table), "ceph")
    known = tuple(row for row in rows if not row.above or row.above in found)
    return [Counters(service, name, known)] if known else []


def _counted(step: str, reported: Mapping[str, Any], counters: Mapping[str, Any]) -> list[Counted]:
    count, sum_s = _number(step, reported, "avgcount"), _number(step, reported, "sum")
    if not count:
        return []
    above, kind, sizes = KNOWN.get(step, ("", "detail", ()))
    if step.startswith(REQUEST[0]) and step.endswith(REQUEST[1]):
        kind = "service"
    moved = sum(int(_number(step, counters, size)) for size in sizes if size in counters)
    return [Counted(step, int(count), above, kind, bytes=moved, total_ns=round(sum_s * 1e9))]


def _number(step: str, reported: Mapping[str, Any], key: str) -> float:
    value = reported.get(key)
    most = MOST_S if key == "sum" else MOST_CALLS
    if not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value < most:
        raise NotUnderstood(f"{step}: {key} is {str(value)[:40]}, no sum of calls or seconds")
    return value


FORMAT = CounterFormat("ceph daemon NAME perf dump", recognise, read)
