"""Exports call trees as Chrome trace events, which Perfetto also reads."""

from __future__ import annotations

import json
from typing import TypedDict

from dfslab.documents.traces.trace_profile import TraceProfile, TreeNode
from dfslab.documents.traces.trace_tree import walk
from dfslab.exports import trees
from dfslab.exports.contract import TraceExporter

TITLE = "Call trees as trace events, for Perfetto and Chrome"


class _Event(TypedDict):
    """A complete event of Chrome's Trace Event Format. Times are in microseconds."""

    ph: str
    name: str
    cat: str
    pid: int
    tid: int
    ts: float
    dur: float
    args: dict[str, int]


def write(profile: TraceProfile) -> bytes:
    """Returns the merged call trees as a JSON document of trace events. Each node (all calls of a
    step with the same callers) is drawn as one long call. The trees follow each other on the time
    axis.

    The document states how many nodes are left out. A node is left out if it took no time, or if
    the document would otherwise be too large.
    """
    nodes = [node for _, node in walk(profile.roots)]
    widths = _widths_ns(nodes)
    starts = _starts_ns(profile.roots, nodes, widths)
    events: list[_Event] = []
    left_out = 0
    for node in nodes:
        if len(events) >= trees.MOST_EVENTS or not widths[id(node)]:
            left_out += 1
        else:
            events.append(_event(node, starts[id(node)], widths[id(node)]))
    other = {"left_out": left_out, "note": "merged call trees, not a time line"}
    document = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}
    return f"{json.dumps(document)}\n".encode()


def _widths_ns(nodes: list[TreeNode]) -> dict[int, int]:
    """Returns the width of each node's bar in ns, by node id. The width is the sum of the self
    times of the node and of all nodes below it. A negative self time counts as 0. The self time of
    a node of the kind DETAIL also counts as 0, because it is already part of the caller's self
    time."""
    widths: dict[int, int] = {}
    for node in reversed(nodes):
        self_ns = 0 if node.kind == trees.DETAIL else max(0, node.self_ns)
        widths[id(node)] = self_ns + sum(widths[id(child)] for child in node.children)
    return widths


def _starts_ns(
    roots: list[TreeNode], nodes: list[TreeNode], widths: dict[int, int]
) -> dict[int, int]:
    """Returns the start of each node's bar in ns, by node id.

    The bar of each root follows the bar of the previous root. The bars of children are inside the
    bar of their parent, one after another.
    """
    starts: dict[int, int] = {}
    at = 0
    for root in roots:
        starts[id(root)] = at
        at += widths[id(root)]
    for node in nodes:
        start = starts[id(node)]
        for child in node.children:
            starts[id(child)] = start
            start += widths[id(child)]
    return starts


def _event(node: TreeNode, start_ns: int, width_ns: int) -> _Event:
    return {
        "ph": "X",
        "name": node.name,
        "cat": node.kind,
        "pid": 1,
        "tid": 1,
        "ts": start_ns / 1e3,
        "dur": width_ns / 1e3,
        "args": {"calls": node.count, "bytes": node.bytes},
    }


EXPORTER = TraceExporter(TITLE, ".trace.json", write)
