"""Converts operations that the OpTracker of Ceph's daemons recorded to spans of one document.

The description of an operation begins with its type and the identifier of a request, such as
`osd_op(client.4177.0:5 1.7 …)`. When an OSD forwards a write to another OSD, the other OSD records
an operation of type `osd_repop` with the same identifier. The operations of all OSDs for one
request therefore form one tree. Each time between two events of an operation is a child of the
operation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from dfslab.documents.traces.otlp import CallSpan, document
from dfslab.filesystems.cephfs.ceph_json import TrackedOperation, TrackedOperations

# The groups of this pattern are the type of an operation, the identifier of the request if the
# operation has one, and the word after the identifier. For a metadata request, the word is the type
# of the request, such as "create" in: client_request(client.4177:12 create …).
DESCRIPTION = re.compile(
    r"(?P<type>\w+)(?:\((?P<request>(?:client|mds)\.[\d.]+:\d+)\s+(?P<word>\w+))?"
)
METADATA = "client_request"
# Causes of operations, by type. An `osd_repop` writes a copy, and an `osd_repop_reply` answers an
# `osd_repop`. Both are caused by the operation of type `osd_op`.
CAUSES = {"osd_repop": "osd_op", "osd_repop_reply": "osd_op"}
# An event with one of these words ends a time during which the operation waited.
WAITS = ("wait", "queue")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TrackedCall:
    """An operation of the daemon `daemon`, such as "osd.0".

    `request` identifies the request of a client or metadata server. `request` is "" if the
    operation has no request. Times are Unix times in nanoseconds. `events` has the (name, time) of
    each event, in the order of time.
    """

    daemon: str
    type: str
    request: str
    word: str
    start_ns: int
    end_ns: int
    events: tuple[tuple[str, int], ...]

    @property
    def role(self) -> str:
        """The kind of daemon: "osd" or "mds"."""
        return self.daemon.partition(".")[0]

    @property
    def name(self) -> str:
        """The name of the call, such as "osd:osd_op" or "mds:create"."""
        step = self.word if self.type == METADATA and self.word else self.type
        return f"{self.role}:{step}"


def read(daemon: str, reply: TrackedOperations) -> list[TrackedCall]:
    """Returns the operations in a daemon's reply to `dump_historic_ops`, in the order of their
    start times. Raises ValueError if a time is not in ISO 8601."""
    return sorted((_call(daemon, one) for one in reply["ops"]), key=lambda one: one.start_ns)


def _call(daemon: str, one: TrackedOperation) -> TrackedCall:
    found = DESCRIPTION.match(one["description"])
    start_ns = _unix_ns(one["initiated_at"])
    end_ns = start_ns + round(one["duration"] * 1e9)
    events = [(each["event"], _unix_ns(each["time"])) for each in one["type_data"]["events"]]
    return TrackedCall(
        daemon=daemon,
        type=found["type"] if found else "operation",
        request=(found["request"] if found else None) or "",
        word=(found["word"] if found else None) or "",
        start_ns=start_ns,
        end_ns=end_ns,
        # Events outside the time of the operation are left out. For example, some times are set by
        # a client's clock and are before the start.
        events=tuple((name, at) for name, at in events if start_ns <= at <= end_ns),
    )


def _unix_ns(text: str) -> int:
    passed = datetime.fromisoformat(text) - EPOCH
    return passed // timedelta(microseconds=1) * 1000


def written(replies: Mapping[str, TrackedOperations]) -> str:
    """Returns operations as text in OTLP's JSON encoding.

    `replies` maps the name of each daemon to its operations. The parent of the write of a copy
    (`osd_repop`) is the write of the OSD that forwarded the copy. A write of a copy has no parent
    if OpTracker did not record that write.
    """
    calls = [one for daemon, reply in replies.items() for one in read(daemon, reply)]
    known = {(one.type, one.request): at for at, one in enumerate(calls) if one.request}
    callers = [known.get((CAUSES.get(one.type, ""), one.request), -1) for one in calls]
    spans = [
        CallSpan(
            service=f"ceph-{one.role}",
            host=one.daemon,
            name=one.name,
            number=at + 1,
            trace=(caller if caller >= 0 else at) + 1,
            caller=caller + 1,
            start_ns=one.start_ns,
            end_ns=one.end_ns,
        )
        for at, (one, caller) in enumerate(zip(calls, callers, strict=True))
    ]
    parts = [
        part for one, span in zip(calls, spans, strict=True) for part in _between_events(one, span)
    ]
    numbered = (replace(part, number=len(spans) + at) for at, part in enumerate(parts, 1))
    return json.dumps(document([*spans, *numbered]))


def _between_events(call: TrackedCall, span: CallSpan) -> Iterator[CallSpan]:
    """Yields one child span for each event of an operation: the time that ended with the event.

    This time begins at the previous event. For the first event, it begins at the start of the
    operation. An event at the same time as the previous event has no span. Each child span at first
    has the number of `span`, which is the span of the operation. `written` then gives it a unique
    number.
    """
    at_ns = call.start_ns
    for event, reached_ns in call.events:
        if reached_ns <= at_ns:
            continue
        # Identifiers of daemons are left out, so that equal events have equal names.
        words = " ".join(word for word in event.split() if not re.search(r"\d", word))
        yield CallSpan(
            service=span.service,
            host=span.host,
            name=f"{call.role}:until {words}",
            number=span.number,
            trace=span.trace,
            caller=span.number,
            start_ns=at_ns,
            end_ns=reached_ns,
            is_wait=any(word in words for word in WAITS),
        )
        at_ns = reached_ns
