"""Reads exemplar traces of JVMs. These are the slowest calls with their arguments, which JVMs
record in addition to sums."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.otlp import OtlpDocument, OtlpSpan, attributes
from dfslab.documents.traces.trace_profile import Timeline, TimelineCall
from dfslab.instruments.tracing.callprofile import SUFFIX, WAITS

EXEMPLARS = ".otlp.json"
MOST_CALLS, MOST_SPANS = 6, 200


@dataclass(frozen=True)
class _Span:
    """One recorded call.

    `cause` is the path of its parent in another process, as printed text; "" if there is none.
    """

    span_id: str
    parent_id: str
    name: str
    kind: str
    about: str
    cause: str
    start_ns: int
    duration_ns: int
    error: bool


@dataclass(frozen=True)
class _Tree:
    """A call tree in one process. `spans` has each call and its depth, the root call first."""

    service: str
    spans: list[tuple[_Span, int]]

    @property
    def root(self) -> _Span:
        """The root call of the tree."""
        return self.spans[0][0]


def timelines(paths: Iterable[Path]) -> list[Timeline]:
    """Returns the slowest exemplar for each pair of a service and a name of a root call. At most
    MOST_CALLS exemplars are returned, in the order of descending duration.

    Exemplars have no trace ids, so the parent of an exemplar in another process cannot be found.
    `cause` has the call path of this parent instead.
    """
    slowest: dict[tuple[str, str], _Tree] = {}
    for path in paths:
        for one in _of(path):
            key = (one.service, one.root.name)
            if key not in slowest or slowest[key].root.duration_ns < one.root.duration_ns:
                slowest[key] = one
    ranked = sorted(slowest.values(), key=lambda one: (-one.root.duration_ns, one.root.name))
    return [_shown(one) for one in ranked[:MOST_CALLS]]


def exemplar_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yields the exemplar files that agents wrote next to the given profiles."""
    for path in paths:
        if path.name.endswith(SUFFIX):
            path = path.with_name(path.name.removesuffix(SUFFIX) + EXEMPLARS)
            if path.is_file():
                yield path


def later_than(path: Path, unix_ns: int) -> str:
    """Returns the text of an agent's exemplar file, without the spans that began before `unix_ns`
    (Unix time in ns)."""
    document: OtlpDocument = json.loads(path.read_bytes())
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            scope["spans"] = [
                span for span in scope["spans"] if int(span["startTimeUnixNano"]) >= unix_ns
            ]
    return json.dumps(document)


def _of(path: Path) -> list[_Tree]:
    """Returns the call trees in an exemplar file. The list is empty if the file is malformed or has
    another format.

    No error is raised here, because errors in files are reported when the sums of the profile are
    read.
    """
    found: list[_Tree] = []
    try:
        document: OtlpDocument = json.loads(path.read_bytes())
        for resource in document["resourceSpans"]:
            service = attributes(resource.get("resource", {})).get("service.name", "")
            traces: dict[str, list[_Span]] = defaultdict(list)
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    traces[span["traceId"]].append(_span(span))
            for spans in traces.values():
                found += _trees(spans, service)
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
        return []
    return found


def _trees(spans: list[_Span], service: str) -> Iterator[_Tree]:
    """Yields the call trees of one trace in one process.

    Each tree starts at a span without a recorded parent.
    """
    below: dict[str, list[_Span]] = defaultdict(list)
    known = {span.span_id for span in spans}
    for span in sorted(spans, key=lambda one: one.start_ns):
        below[span.parent_id if span.parent_id in known else ""].append(span)
    for root in below[""]:
        found: list[tuple[_Span, int]] = []
        open_spans = [(root, 0)]
        while open_spans:
            span, depth = open_spans.pop()
            found.append((span, depth))
            # The spans below a span are removed from the dictionary when they are visited. This
            # prevents an endless loop if spans name each other as parents.
            inside = below.pop(span.span_id, [])
            open_spans += [(one, depth + 1) for one in reversed(inside)]
        yield _Tree(service, found)


def _span(span: OtlpSpan) -> _Span:
    given = attributes(span)
    start_ns, end_ns = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    return _Span(
        span_id=span["spanId"],
        parent_id=span.get("parentSpanId") or "",
        name=str(span["name"]),
        kind=given.get("dfslab.kind", "service"),
        about=given.get("dfslab.about", ""),
        cause=given.get("dfslab.cause", ""),
        start_ns=start_ns,
        duration_ns=max(0, end_ns - start_ns),
        error=span.get("status", {}).get("code") == 2,
    )


def _shown(tree: _Tree) -> Timeline:
    """Returns an exemplar as a timeline for display. The timeline has only the first MOST_SPANS
    calls. Times are seconds since the start of the root call.
    """
    root = tree.root
    calls = [
        TimelineCall(
            name=span.name,
            place=tree.service,
            about=span.about,
            depth=depth,
            start_s=(span.start_ns - root.start_ns) / 1e9,
            duration_s=span.duration_ns / 1e9,
            wait=span.kind in WAITS,
            error=span.error,
        )
        for span, depth in tree.spans[:MOST_SPANS]
    ]
    return Timeline(
        name=root.name,
        cause=CallPath.read(root.cause),
        duration_s=root.duration_ns / 1e9,
        left_out=len(tree.spans) - len(calls),
        calls=calls,
    )
