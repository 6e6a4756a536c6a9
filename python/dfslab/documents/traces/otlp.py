"""The parts of OTLP trace JSON that dfslab reads; other keys are preserved unchanged."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class OtlpAttribute(TypedDict):
    """A key and its value, which is in a dictionary by the type of the value."""

    key: str
    value: dict[str, object]


class OtlpResource(TypedDict):
    """The process or host that recorded the spans."""

    attributes: NotRequired[list[OtlpAttribute]]


class OtlpStatus(TypedDict):
    """How a call ended; code 2 is an error."""

    code: NotRequired[int]


class OtlpSpan(TypedDict):
    """One call; ids are hexadecimal, times are Unix times in nanoseconds as text."""

    traceId: str
    spanId: str
    parentSpanId: NotRequired[str]
    name: str
    startTimeUnixNano: str
    endTimeUnixNano: str
    attributes: NotRequired[list[OtlpAttribute]]
    status: NotRequired[OtlpStatus]


class OtlpScopeSpans(TypedDict):
    """Spans of one instrumentation scope."""

    spans: list[OtlpSpan]


class OtlpResourceSpans(TypedDict):
    """Spans of one resource."""

    resource: NotRequired[OtlpResource]
    scopeSpans: list[OtlpScopeSpans]


class OtlpDocument(TypedDict):
    """A message or file of OTLP."""

    resourceSpans: list[OtlpResourceSpans]


def attributes(table: OtlpResource | OtlpSpan) -> dict[str, str]:
    """Returns the attributes of a resource or span, as text."""
    return {
        one["key"]: str(next(iter(one["value"].values()), ""))
        for one in table.get("attributes", ())
    }
