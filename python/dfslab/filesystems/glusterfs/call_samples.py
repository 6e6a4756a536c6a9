"""Reads the calls that GlusterFS' translator io-stats has sampled, and converts them to spans.

With `diagnostics.fop-sample-interval = 1`, io-stats samples every call of a client and of a brick,
and writes the calls to a dump. Each line of a dump is one call and has ten fields (GlusterFS 10 and
11). The fields in use are: begin in seconds of CLOCK_MONOTONIC, priority, operation, duration in
nanoseconds, and volume or brick.

The lines do not identify the client's call that caused a brick's call. A brick's call is therefore
assigned to a client's call by their times, and only if exactly one client's call is possible.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from dfslab.documents.traces.otlp import CallSpan, document

CLIENT, BRICK = "client", "brick"
FIELDS = 10
# Start times are printed in microseconds, rounded down.
RESOLUTION_NS = 1000


@dataclass(frozen=True)
class SampledCall:
    """One call of a process. `service` is CLIENT or BRICK, `host` the name of the process' host.
    Times are in nanoseconds of CLOCK_MONOTONIC."""

    service: str
    host: str
    operation: str
    start_ns: int
    duration_ns: int

    @property
    def end_ns(self) -> int:
        """The end of the call in nanoseconds of CLOCK_MONOTONIC."""
        return self.start_ns + self.duration_ns


def read(text: str, service: str, host: str) -> list[SampledCall]:
    """Returns the calls in the text of a dump, in its order. Raises ValueError, which names the
    line, if a line has another form."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split(",")
        try:
            if len(fields) != FIELDS:
                raise ValueError
            seconds, _, microseconds = fields[0].partition(".")
            start_ns = int(seconds) * 10**9 + int(f"{microseconds:0<6.6}") * 1000
            found.append(SampledCall(service, host, fields[2], start_ns, int(float(fields[3]))))
        except ValueError:
            allowed = f"needs {FIELDS} fields: begin in seconds, priority, operation, duration, …"
            raise ValueError(f"line {number} is {line[:60]!r}; {allowed}") from None
    return found


def callers(calls: Sequence[SampledCall]) -> list[int | None]:
    """Returns for each call the index of the client's call that caused it. The index is None for a
    client's call, and for a brick's call whose caller is unknown.

    The possible callers of a brick's call are the client's calls whose times contain the time of
    the brick's call. If there is exactly one such call, this call is the caller. If there are
    several, and exactly one of them has the same operation as the brick's call, that call is the
    caller. In all other cases the caller is unknown. Examples are a client that does not wait for
    the brick's call, and client's calls of the same operation that overlap.
    """
    found: list[int | None] = [None] * len(calls)
    running: list[int] = []
    for at in _by_begin(calls):
        one = calls[at]
        running = [other for other in running if calls[other].end_ns >= one.start_ns]
        if one.service == CLIENT:
            running.append(at)
            continue
        around = [other for other in running if _contains(calls[other], one)]
        if len(around) > 1:
            around = [other for other in around if calls[other].operation == one.operation]
        found[at] = around[0] if len(around) == 1 else None
    return found


def _by_begin(calls: Sequence[SampledCall]) -> list[int]:
    """Returns the indices of `calls`, sorted by start time.

    A client's call is sorted as if it had begun RESOLUTION_NS earlier. The client's call then
    precedes the brick's calls inside it, even if times are rounded.
    """

    def place(at: int) -> tuple[int, bool]:
        early_ns = RESOLUTION_NS if calls[at].service == CLIENT else 0
        return calls[at].start_ns - early_ns, calls[at].service != CLIENT

    return sorted(range(len(calls)), key=place)


def _contains(outer: SampledCall, inner: SampledCall) -> bool:
    return (
        outer.start_ns - RESOLUTION_NS <= inner.start_ns
        and inner.end_ns <= outer.end_ns + RESOLUTION_NS
    )


def written(calls: Sequence[SampledCall], unix_offset_ns: int) -> str:
    """Returns the calls as text in OTLP's JSON encoding: a span for each call, with the span of its
    caller as parent. `unix_offset_ns` is the Unix time minus CLOCK_MONOTONIC, in nanoseconds."""
    spans = (
        CallSpan(
            service=f"glusterfs-{one.service}",
            host=one.host,
            name=f"{one.service}:{one.operation}",
            number=at + 1,
            trace=(at if caller is None else caller) + 1,
            caller=0 if caller is None else caller + 1,
            start_ns=one.start_ns + unix_offset_ns,
            end_ns=one.end_ns + unix_offset_ns,
        )
        for at, (one, caller) in enumerate(zip(calls, callers(calls), strict=True))
    )
    return json.dumps(document(spans))
