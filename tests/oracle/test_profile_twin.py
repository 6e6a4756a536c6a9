"""Tests that the same calls give the same figures as spans and as a call profile. The Rust core
merges spans to rows, and `callprofile` merges the sums of call profiles (decision 042)."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pytest
from dfslab.documents.traces.trace_profile import Entry, TraceProfile, TreeNode
from dfslab.instruments import trace
from dfslab.instruments.tracing import call_document, callprofile
from support.profiles import files

# Names of steps with their cost classes. A name has the same class wherever it occurs.
KINDS = {"create": "service", "rpc": "blocked", "pack": "service", "wait": "blocked"}
KINDS |= {"send": "service", "sum": "service"}
SERVICE = "client"
# Largest accepted relative difference between two quantiles or standard deviations. Each of the two
# computations knows a duration only to the precision of its histogram: 1/64 or 1/32 of the
# duration.
OF_BUCKETS = 1 / 32 + 1 / 64
EXACT = ("count", "read", "errors", "bytes", "total_ns", "self_ns", "again", "kind")
SECONDS = ("total_s", "self_s", "min_s", "max_s")
IN_BUCKETS = ("p50_s", "p99_s", "sd_s")


@dataclass
class Call:
    """One call, with the calls that it makes one after the other. Times are in ns. `own_ns` is the
    self time."""

    name: str
    own_ns: int
    bytes: int
    error: bool
    children: list[Call] = field(default_factory=list)

    @property
    def total_ns(self) -> int:
        return self.own_ns + sum(one.total_ns for one in self.children)


# The shape of a step is a dictionary from the name of each step that it calls to the shape of the
# called step. All calls of a step have the same shape.
Shape = dict[str, "Shape"]


def shape(source: random.Random, depth: int) -> Shape:
    names = source.sample(sorted(KINDS), source.randint(0, 3) if depth else 0)
    return {name: shape(source, depth - 1) for name in names}


def called(source: random.Random, name: str, below: Shape) -> Call:
    """Returns a random call of the step `name`, whose shape is `below`. The call makes each of its
    inner calls one to three times. Only the last of these may fail. An earlier failure would count
    as a retried attempt, and call profiles do not count retried attempts."""
    call = Call(name, source.randint(1, 400), source.choice([0, 1, 4096]), error=False)
    for inner, further in below.items():
        same = [called(source, inner, further) for _ in range(source.randint(1, 3))]
        same[-1].error = source.random() < 0.1
        call.children += same
    return call


def random_calls(source: random.Random) -> list[Call]:
    """Returns random root calls, where all calls of one root name have the same structure."""
    shapes = {name: shape(source, 3) for name in ("put", "get", "list")[: source.randint(1, 3)]}
    roots = [name for name in shapes for _ in range(source.randint(1, 30))]
    return [called(source, name, shapes[name]) for name in roots]


def as_spans(calls: Iterable[Call]) -> str:
    """Returns one OTLP JSON document of the calls. Each root call is a trace."""
    spans = [one for number, call in enumerate(calls, 1) for one in _spans(call, number)]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def _spans(root: Call, trace_id: int) -> Iterator[dict[str, object]]:
    open_calls, span_id = [(root, 0, 1000)], 0
    while open_calls:
        call, parent, start_ns = open_calls.pop()
        span_id += 1
        kind = "blocked" if KINDS.get(call.name) == "blocked" else "service"
        yield {
            "traceId": f"{trace_id:032x}",
            "spanId": f"{span_id:016x}",
            "parentSpanId": f"{parent:016x}" if parent else "",
            "name": call.name,
            "startTimeUnixNano": str(start_ns),
            "endTimeUnixNano": str(start_ns + call.total_ns),
            "status": {"code": 2} if call.error else {},
            "attributes": [
                {"key": "bytes", "value": {"intValue": str(call.bytes)}},
                {"key": "dfslab.kind", "value": {"stringValue": kind}},
            ],
        }
        for child in call.children:
            open_calls.append((child, span_id, start_ns))
            start_ns += child.total_ns


def as_rows(calls: Iterable[Call]) -> list[dict[str, object]]:
    """Returns the rows of the call profile of one process that made the calls."""
    rows: list[dict[str, object]] = []
    groups = [(-1, same) for same in _by_name(calls)]
    while groups:
        above, same = groups.pop()
        times = [one.total_ns for one in same]
        buckets = Counter(_bucket(one) for one in times)
        rows.append(
            {
                "above": above,
                "step": same[0].name,
                "kind": KINDS.get(same[0].name, "service"),
                "count": len(same),
                "errors": sum(one.error for one in same),
                "bytes": sum(one.bytes for one in same),
                "total_ns": sum(times),
                "self_ns": sum(one.own_ns for one in same),
                "min_ns": min(times),
                "max_ns": max(times),
                "durations": sorted(buckets.items()),
            }
        )
        inner = _by_name(child for one in same for child in one.children)
        groups += [(len(rows) - 1, one) for one in inner]
    return rows


def _by_name(calls: Iterable[Call]) -> list[list[Call]]:
    named: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        named[call.name].append(call)
    return list(named.values())


def _bucket(duration_ns: int) -> int:
    """Returns the lower end of a duration's bucket in a call profile's histogram."""
    bits = callprofile.SUB_BUCKETS.bit_length()
    return duration_ns - duration_ns % (1 << max(0, duration_ns.bit_length() - bits))


def both(calls: list[Call], path) -> tuple[TraceProfile, TraceProfile]:
    """Returns two trace profiles of the calls. The first profile is read from spans, which are
    written to the file `path`. The second profile is made from a call profile."""
    path.write_text(as_spans(calls), encoding="utf-8")
    read = files([(SERVICE, as_rows(calls))])
    return trace.profile([path]), call_document.document(read, callprofile.merge(read))


def assert_same_entry(one: Entry, other: Entry) -> None:
    assert (one.name, one.path) == (other.name, other.path)
    exact = [name for name in EXACT if name != "kind"]
    assert [getattr(one, name) for name in exact] == [getattr(other, name) for name in exact]
    for name in ("total_s", "self_s", "mean_s", "share"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)


def assert_same_nodes(ours: list[TreeNode], others: list[TreeNode], first: str = "") -> None:
    assert [first + one.name for one in ours] == [other.name for other in others]
    for one, other in zip(ours, others, strict=True):
        assert [getattr(one, name) for name in EXACT] == [getattr(other, name) for name in EXACT]
        for name in SECONDS:
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)
        for name in IN_BUCKETS:
            within = {"rel": OF_BUCKETS, "abs": one.max_s * OF_BUCKETS}
            assert getattr(one, name) == pytest.approx(getattr(other, name), **within)
        assert_same_nodes(one.children, other.children)


def assert_same(spans: TraceProfile, sums: TraceProfile) -> None:
    reductions = [one.reduction.model_dump(exclude={"rows"}) for one in (spans, sums)]
    assert reductions[0] == pytest.approx(reductions[1])
    assert (spans.spans, spans.trees, spans.shapes) == (sums.spans, sums.trees, sums.shapes)
    assert_same_nodes(spans.roots, sums.roots, f"{SERVICE}:")
    assert len(spans.ranking_by_name) == len(sums.ranking_by_name)
    for one, other in zip(spans.ranking_by_name, sums.ranking_by_name, strict=True):
        assert_same_entry(one, other)


@pytest.mark.grid
@pytest.mark.parametrize("seed", range(40))
def test_spans_and_sums_of_the_same_calls_agree(seed, tmp_path):
    assert_same(*both(random_calls(random.Random(seed)), tmp_path / "spans.json"))


def test_the_comparison_can_fail(tmp_path):
    calls = random_calls(random.Random(3))
    spans, _ = both(calls, tmp_path / "spans.json")
    calls[0].own_ns += 1
    _, sums = both(calls, tmp_path / "changed.json")
    with pytest.raises(AssertionError):
        assert_same(spans, sums)
