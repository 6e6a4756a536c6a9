"""The parts of OTLP's trace JSON (OpenTelemetry) that dfslab reads. Other keys are preserved
unchanged.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class OtlpAttribute(TypedDict):
    """A key and its value. The value is in a dictionary whose key is the type of the value, such as
    "stringValue".
    """

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
