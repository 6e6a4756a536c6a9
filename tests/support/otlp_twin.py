"""A simple reader of OTLP traces, with which tests compare the reader of the Rust core. The simple
reader finds each field by its number or name, does not buffer spans, and does not repair damaged
traces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ERROR = 2
# Attributes that may contain the number of bytes of a call. If a call has several of these
# attributes, the earliest attribute in this tuple counts.
SIZES = ("dfslab.size_bytes", "size_bytes", "bytes")
WAITS = ("queue", "lock", "blocked")
# An alias of `bytes` for annotations within the class below, which has a field named `bytes`.
TraceId = bytes
TRACE_ID, SPAN_ID, PARENT_ID, NAME, START, END, ATTRIBUTES, STATUS = 1, 2, 4, 5, 7, 8, 9, 15


@dataclass(frozen=True)
class SpanOfTwin:
    """A span with the columns of the Rust core's table of spans. A value that the trace does not
    have is None."""

    trace_id: TraceId
    span_id: int
    parent_id: int | None
    name: str
    start_unix_ns: int
    end_unix_ns: int
    service: str | None
    host: str | None
    thread: int
    bytes: int
    error: bool
    wait: bool


def spans(path: Path) -> list[SpanOfTwin]:
    """Returns the spans of a JSON or protobuf file, ordered by trace id and span id."""
    content = path.read_bytes()
    found = of_json(content) if content.startswith(b"{") else of_protobuf(content)
    return sorted(found, key=lambda span: (span.trace_id, span.span_id))


def of_json(content: bytes) -> Iterator[SpanOfTwin]:
    """Yields the spans of OTLP JSON. The content is a single JSON document, or one JSON document
    per line."""
    for line in content.splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            whole = _attributes(resource.get("resource", {}))
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    own = _attributes(span)
                    yield _span(
                        bytes.fromhex(span["traceId"]),
                        bytes.fromhex(span["spanId"]),
                        bytes.fromhex(span.get("parentSpanId", "")),
                        span["name"],
                        int(span["startTimeUnixNano"]),
                        int(span["endTimeUnixNano"]),
                        (span.get("status") or {}).get("code") == ERROR,
                        whole,
                        own,
                    )


def of_protobuf(content: bytes) -> Iterator[SpanOfTwin]:
    """Yields the spans of OTLP protobuf messages that follow each other in one file."""
    for resource in _each(content, 1):
        whole = {}
        for described in _each(resource, 1):
            whole |= dict(map(_attribute, _each(described, 1)))
        for scope in _each(resource, 2):
            for span in _each(scope, 2):
                status = [code for one in _each(span, STATUS) for code in _each(one, 3)]
                yield _span(
                    _one(span, TRACE_ID, b""),
                    _one(span, SPAN_ID, b""),
                    _one(span, PARENT_ID, b""),
                    _one(span, NAME, b"").decode(),
                    _one(span, START, 0),
                    _one(span, END, 0),
                    status == [ERROR],
                    whole,
                    dict(map(_attribute, _each(span, ATTRIBUTES))),
                )


def _span(trace_id, span_id, parent_id, name, start_ns, end_ns, error, whole, own) -> SpanOfTwin:
    return SpanOfTwin(
        trace_id,
        int.from_bytes(span_id, "big"),
        int.from_bytes(parent_id, "big") or None,
        name,
        start_ns,
        end_ns,
        whole.get("service.name"),
        whole.get("host.name"),
        int(own.get("thread.id", 0)),
        int(next((own[key] for key in SIZES if key in own), 0)),
        error,
        own.get("dfslab.kind") in WAITS,
    )


def _attributes(table) -> dict[str, object]:
    given = table.get("attributes", ())
    return {one["key"]: next(iter(one["value"].values()), "") for one in given}


def _attribute(content: bytes) -> tuple[str, object]:
    value = _one(content, 2, b"")
    texts = [text.decode() for text in _each(value, 1)]
    return _one(content, 1, b"").decode(), (texts or list(_each(value, 3)) or [""])[0]


def _one(message: bytes, number: int, missing):
    return next(iter(_each(message, number)), missing)


def _each(message: bytes, wanted: int) -> Iterator:
    """Yields the values of the field `wanted` (a field number) in a protobuf message, as bytes or
    integers."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(message, at)
        else:
            size, at = (8, at) if kind == 1 else (4, at) if kind == 5 else _varint(message, at)
            value, at = message[at : at + size], at + size
            value = value if kind == 2 else int.from_bytes(value, "little")
        if number == wanted:
            yield value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
