"""The types of those parts of OTLP trace JSON (OpenTelemetry's format) that dfslab reads and
writes. Other keys of a document are kept unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NotRequired, TypedDict


class OtlpAttribute(TypedDict):
    """A key with its value. The value is wrapped in a dictionary whose key states the type of the
    value: `{"stringValue": "read"}`."""

    key: str
    value: dict[str, object]


class OtlpResource(TypedDict):
    """The process or host that recorded the spans."""

    attributes: NotRequired[list[OtlpAttribute]]


class OtlpStatus(TypedDict):
    """The status of a span. Code 2 means that the call ended with an error."""

    code: NotRequired[int]


class OtlpSpan(TypedDict):
    """One call in OTLP. Ids are hexadecimal; times are Unix times in nanoseconds as text."""

    traceId: str
    spanId: str
    parentSpanId: NotRequired[str]
    name: str
    startTimeUnixNano: str
    endTimeUnixNano: str
    attributes: NotRequired[list[OtlpAttribute]]
    status: NotRequired[OtlpStatus]


class OtlpScopeSpans(TypedDict):
    """Spans of one instrumentation scope, such as a library."""

    spans: list[OtlpSpan]


class OtlpResourceSpans(TypedDict):
    """Spans of one resource, that is, of one process or host."""

    resource: NotRequired[OtlpResource]
    scopeSpans: list[OtlpScopeSpans]


class OtlpDocument(TypedDict):
    """A message or a file in OTLP's JSON encoding."""

    resourceSpans: list[OtlpResourceSpans]


def attributes(table: OtlpResource | OtlpSpan) -> dict[str, str]:
    """Returns the attributes of a resource or span, as text."""
    return {
        one["key"]: str(next(iter(one["value"].values()), ""))
        for one in table.get("attributes", ())
    }


@dataclass(frozen=True)
class CallSpan:
    """A call of a process, with the data that are written to a span.

    `number` identifies the call in its document; the first call has number 1. `caller` is the
    number of the call that waited for this call; 0 if that call is unknown. `trace` is the number
    of the root call of the tree. Times are Unix times in nanoseconds.
    """

    service: str
    host: str
    name: str
    number: int
    trace: int
    caller: int
    start_ns: int
    end_ns: int
    is_wait: bool = False


def document(calls: Iterable[CallSpan]) -> OtlpDocument:
    """Returns the calls as an OTLP document with one resource for each service and host."""
    spans: dict[tuple[str, str], list[OtlpSpan]] = {}
    for one in calls:
        spans.setdefault((one.service, one.host), []).append(_span(one))
    return {
        "resourceSpans": [
            {
                "resource": {
                    "attributes": [_text("service.name", service), _text("host.name", host)]
                },
                "scopeSpans": [{"spans": own}],
            }
            for (service, host), own in spans.items()
        ]
    }


def _span(one: CallSpan) -> OtlpSpan:
    found: OtlpSpan = {
        "traceId": f"{one.trace:032x}",
        "spanId": f"{one.number:016x}",
        "name": one.name,
        "startTimeUnixNano": str(one.start_ns),
        "endTimeUnixNano": str(one.end_ns),
    }
    if one.caller:
        found["parentSpanId"] = f"{one.caller:016x}"
    if one.is_wait:
        found["attributes"] = [_text("dfslab.kind", "queue")]
    return found


def _text(key: str, value: str) -> OtlpAttribute:
    return {"key": key, "value": {"stringValue": value}}
