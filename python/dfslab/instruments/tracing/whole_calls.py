"""Exemplar traces of traced JVMs: the slowest calls, with arguments, recorded in addition to
sums."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dfslab.instruments.tracing.callprofile import SUFFIX, WAITS

EXEMPLARS = ".otlp.json"
MOST_CALLS, MOST_SPANS = 6, 200


def whole_calls(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The slowest exemplar of each kind of call, slowest first; calls left out of each are counted.

    The shape is that of the `timelines` of spans. Each has `name`, `duration_s`, `left_out` and
    `calls`, in their order, with `name`, `place`, `about`, `depth`, `start_s` (from the first),
    `duration_s`, `wait`, `error`; and `cause`, the parent path in another process.
    """
    slowest: dict[tuple[str, str], dict[str, Any]] = {}
    for path in paths:
        for one in _of(path):
            key = (one["place"], one["name"])
            if key not in slowest or slowest[key]["took_ns"] < one["took_ns"]:
                slowest[key] = one
    ranked = sorted(slowest.values(), key=lambda one: (-one["took_ns"], one["name"]))
    return [_shown(one) for one in ranked[:MOST_CALLS]]


def exemplar_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The exemplar files that belong to the given profiles."""
    for path in paths:
        if path.name.endswith(SUFFIX):
            path = path.with_name(path.name.removesuffix(SUFFIX) + EXEMPLARS)
            if path.is_file():
                yield path


def later_than(path: Path, unix_ns: int) -> str:
    """An agent's exemplar file, restricted to the spans that began at or after a Unix time in
    ns."""
    document = json.loads(path.read_bytes())
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            scope["spans"] = [
                span for span in scope["spans"] if int(span["startTimeUnixNano"]) >= unix_ns
            ]
    return json.dumps(document)


def _of(path: Path) -> list[dict[str, Any]]:
    """The root calls of an exemplar file; empty for a file in another format.

    Errors in a file are reported and counted where its sums are read; here they are skipped.
    """
    found: list[dict[str, Any]] = []
    try:
        for resource in json.loads(path.read_bytes())["resourceSpans"]:
            service = str(_attributes(resource.get("resource", {})).get("service.name", ""))
            traces: dict[str, list[dict[str, Any]]] = defaultdict(list)
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    traces[span["traceId"]].append(_span(span))
            for spans in traces.values():
                found += _trees(spans, service)
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
        return []
    return found


def _trees(spans: list[dict[str, Any]], service: str) -> Iterator[dict[str, Any]]:
    """The call trees of one trace in one process."""
    below: dict[str, list[dict[str, Any]]] = defaultdict(list)
    known = {span["id"] for span in spans}
    for span in sorted(spans, key=lambda one: one["start_ns"]):
        below[span["parent"] if span["parent"] in known else ""].append(span)
    for root in below[""]:
        found, open_spans = [], [(root, 0)]
        while open_spans:
            span, depth = open_spans.pop()
            found.append({**span, "depth": depth})
            # Removed from the dictionary, so that spans that are each other's parents cause no
            # endless loop.
            inside = below.pop(span["id"], [])
            open_spans += [(one, depth + 1) for one in reversed(inside)]
        yield {
            "name": root["name"],
            "place": service,
            "cause": root["cause"],
            "took_ns": root["took_ns"],
            "spans": found,
        }


def _span(span: Mapping[str, Any]) -> dict[str, Any]:
    attributes = _attributes(span)
    start_ns, end_ns = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    return {
        "id": span["spanId"],
        "parent": span.get("parentSpanId") or "",
        "name": str(span["name"]),
        "kind": str(attributes.get("dfslab.kind", "service")),
        "about": str(attributes.get("dfslab.about", "")),
        "cause": str(attributes.get("dfslab.cause", "")),
        "start_ns": start_ns,
        "took_ns": max(0, end_ns - start_ns),
        "error": span.get("status", {}).get("code") == 2,
    }


def _attributes(table: Mapping[str, Any]) -> dict[str, Any]:
    return {
        one["key"]: next(iter(one["value"].values()), "") for one in table.get("attributes", ())
    }


def _shown(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The displayed fields of a call; times in seconds from the call's own start."""
    spans = tree["spans"]
    calls = [
        {
            "name": span["name"],
            "place": tree["place"],
            "about": span["about"],
            "depth": span["depth"],
            "start_s": (span["start_ns"] - spans[0]["start_ns"]) / 1e9,
            "duration_s": span["took_ns"] / 1e9,
            "wait": span["kind"] in WAITS,
            "error": span["error"],
        }
        for span in spans[:MOST_SPANS]
    ]
    return {
        "name": tree["name"],
        "cause": tree["cause"],
        "duration_s": tree["took_ns"] / 1e9,
        "left_out": len(spans) - len(calls),
        "calls": calls,
    }
