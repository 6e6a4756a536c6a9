"""Compressed call trees for other viewers: speedscope, and Chrome trace JSON for Perfetto."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

FORMS = ("speedscope", "chrome")
SCHEMA = "https://www.speedscope.app/file-format-schema.json"
MOST_EVENTS = 100_000


def export(profile: Mapping[str, Any], form: str) -> str:
    """The trees as text in one of `FORMS`; what is left out for size is told inside."""
    assert form in FORMS, form
    return json.dumps((speedscope if form == "speedscope" else chrome)(profile))


def _walk(roots: Sequence[Mapping[str, Any]]) -> Iterator[tuple[list[str], Mapping[str, Any]]]:
    """Every node with the names from its root, the longest trees first."""
    open_nodes: list[tuple[list[str], Mapping[str, Any]]] = [
        ([root["name"]], root) for root in reversed(roots)
    ]
    while open_nodes:
        path, node = open_nodes.pop()
        yield path, node
        open_nodes += [([*path, child["name"]], child) for child in reversed(node["children"])]


def speedscope(profile: Mapping[str, Any]) -> dict[str, Any]:
    """One weighted stack a node: its own time. (speedscope's "sampled" profile.)"""
    frames: dict[str, int] = {}
    samples, weights = [], []
    for path, node in _walk(profile["roots"]):
        own_ns = max(0, node["self_ns"])
        if node.get("kind") == "detail" or not own_ns:
            continue
        samples.append([frames.setdefault(name or "(unnamed)", len(frames)) for name in path])
        weights.append(own_ns)
    return {
        "$schema": SCHEMA,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": [{"type": "sampled", "name": "call trees", "unit": "nanoseconds",
                      "startValue": 0, "endValue": sum(weights),
                      "samples": samples, "weights": weights}],
        "exporter": "dfslab",
    }  # fmt: skip


def chrome(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Merged trees laid out one after the other, as if each place were one long call."""
    widths: dict[int, int] = {}
    nodes = list(_walk(profile["roots"]))
    for _, node in reversed(nodes):
        own_ns = 0 if node.get("kind") == "detail" else max(0, node["self_ns"])
        widths[id(node)] = own_ns + sum(widths[id(child)] for child in node["children"])
    events: list[dict[str, Any]] = []
    left_out = 0
    starts: dict[int, int] = {}
    at = 0
    for root in profile["roots"]:
        starts[id(root)] = at
        at += widths[id(root)]
    for _, node in nodes:
        start = starts[id(node)]
        for child in node["children"]:
            starts[id(child)] = start
            start += widths[id(child)]
        if len(events) >= MOST_EVENTS or not widths[id(node)]:
            left_out += 1
            continue
        told = {"calls": node["count"], "bytes": node["bytes"]}
        events.append({"ph": "X", "name": node["name"], "cat": node.get("kind", "service"),
                       "pid": 1, "tid": 1, "ts": starts[id(node)] / 1e3,
                       "dur": widths[id(node)] / 1e3, "args": told})  # fmt: skip
    other = {"left_out": left_out, "note": "merged call trees, not a time line"}
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}
