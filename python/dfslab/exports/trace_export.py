"""Exports compressed call trees: speedscope, pprof, Chrome trace JSON for Perfetto."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

FORMS = ("speedscope", "chrome")
SCHEMA = "https://www.speedscope.app/file-format-schema.json"
MOST_EVENTS = 100_000


def export(profile: Mapping[str, Any], form: str) -> str:
    """The trees as text in one of `FORMS`; the text states what was omitted for size."""
    assert form in FORMS, form
    return json.dumps((speedscope if form == "speedscope" else chrome)(profile))


def _walk(roots: Sequence[Mapping[str, Any]]) -> Iterator[tuple[list[str], Mapping[str, Any]]]:
    """Every node with the names from its root, the trees with the longest total time first."""
    open_nodes: list[tuple[list[str], Mapping[str, Any]]] = [
        ([root["name"]], root) for root in reversed(roots)
    ]
    while open_nodes:
        path, node = open_nodes.pop()
        yield path, node
        open_nodes += [([*path, child["name"]], child) for child in reversed(node["children"])]


def speedscope(profile: Mapping[str, Any]) -> dict[str, Any]:
    """One weighted stack for each node, with its self time (speedscope's "sampled" profile)."""
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
        "profiles": [
            {
                "type": "sampled",
                "name": "call trees",
                "unit": "nanoseconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        ],
        "exporter": "dfslab",
    }


def chrome(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Merged trees laid out one after the other, each node as if it were one long call."""
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
        arguments = {"calls": node["count"], "bytes": node["bytes"]}
        events.append(
            {
                "ph": "X",
                "name": node["name"],
                "cat": node.get("kind", "service"),
                "pid": 1,
                "tid": 1,
                "ts": starts[id(node)] / 1e3,
                "dur": widths[id(node)] / 1e3,
                "args": arguments,
            }
        )
    other = {"left_out": left_out, "note": "merged call trees, not a time line"}
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}


def pprof(profile: Mapping[str, Any]) -> bytes:
    """The trees as pprof's profile.proto, gzip-compressed: calls and self time."""
    texts: dict[str, int] = {"": 0}

    def text(word: str) -> int:
        return texts.setdefault(word, len(texts))

    kinds = b"".join(
        _field(1, _number(1, text(kind)) + _number(2, text(unit)))
        for kind, unit in (("calls", "count"), ("time", "nanoseconds"))
    )
    places: dict[str, int] = {}
    samples = []
    for path, node in _walk(profile["roots"]):
        if node.get("kind") == "detail":
            continue
        # A stack is listed from its innermost call outwards; identifiers start at 1.
        stack = [places.setdefault(name or "(unnamed)", len(places) + 1) for name in path][::-1]
        values = (node["count"], max(0, node["self_ns"]))
        packed = _field(1, b"".join(map(_varint, stack))) + _field(
            2, b"".join(map(_varint, values))
        )
        samples.append(_field(2, packed))
    lines = [
        _field(4, _number(1, place) + _field(4, _number(1, place))) for place in places.values()
    ]
    named = [
        _field(5, _number(1, place) + _number(2, text(name))) for name, place in places.items()
    ]
    table = [_field(6, word.encode()) for word in texts]
    return gzip.compress(b"".join([kinds, *samples, *lines, *named, *table]), mtime=0)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _number(tag: int, value: int) -> bytes:
    return _varint(tag << 3) + _varint(value)


def _field(tag: int, content: bytes) -> bytes:
    return _varint(tag << 3 | 2) + _varint(len(content)) + content
