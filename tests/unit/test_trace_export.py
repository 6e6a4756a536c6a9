"""Tests that exported traces contain all self time to the nanosecond, and that reading them gives
the same call trees."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

from dfslab import _core
from dfslab.cli.traces import trace_work
from dfslab.exports import trees
from dfslab.exports.formats import chrome, pprof, speedscope
from dfslab.instruments import trace
from dfslab.instruments.tracing.reading import Reading, reading
from dfslab.report.sections.traced_runs import body
from dfslab.report.timeline import TITLE
from dfslab.studies.traces import trace_files
from support.profiles import tree_node, tree_profile
from support.rows import span_table


def node(name, own, children=(), kind="service"):
    return tree_node(name, *children, count=2, self_ns=own, kind=kind)


PROFILE = tree_profile(
    node(
        "a", 5000, [node("b", 3000), node("w", 9000, kind="blocked"), node("d", 70, kind="detail")]
    ),
    node("c", 1000),
)


def test_speedscope_weighs_each_stack_by_its_own_time():
    reported = json.loads(speedscope.write(PROFILE))
    names = [frame["name"] for frame in reported["shared"]["frames"]]
    (one,) = reported["profiles"]
    stacks = {
        "/".join(names[frame] for frame in stack): weight
        for stack, weight in zip(one["samples"], one["weights"], strict=True)
    }
    assert stacks == {"a": 5000, "a/b": 3000, "a/w": 9000, "c": 1000}
    assert one["endValue"] == 18_000


def test_chrome_reads_back_as_the_same_trees(tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes(chrome.write(PROFILE))
    found = trace.profile([path])
    (a, c) = found.roots
    assert (a.name, a.total_ns, a.self_ns) == ("a", 17_000, 5000)
    assert {child.name: child.self_ns for child in a.children} == {"b": 3000, "w": 9000}
    assert (c.name, c.total_ns) == ("c", 1000)
    assert json.loads(chrome.write(PROFILE))["otherData"]["left_out"] == 1
    assert json.loads(speedscope.write(PROFILE))["exporter"] == "dfslab"


def test_a_chrome_trace_beyond_its_size_says_so(monkeypatch):
    monkeypatch.setattr(trees, "MOST_EVENTS", 2)
    reported = json.loads(chrome.write(PROFILE))
    assert [event["name"] for event in reported["traceEvents"]] == ["a", "b"]
    assert reported["otherData"]["left_out"] == 3


START = 1_700_000_000 * 10**9


def _written(folder, trees=5):
    spans = []
    for tree in range(trees):
        begin, root = START + tree * 10**6, 1 + 10 * tree
        spans.append(("write", begin, begin + 9000 + tree, root, 0, 1, 4096))
        spans.append(("block", begin + 10, begin + 8000, root + 1, root, 1, 0))
        spans.append(("disk", begin + 20, begin + 5000, root + 2, root + 1, 1, 4096))
    path = folder / "trace"
    _core.trace_write(span_table(spans), "client", str(path), "protobuf")
    return path


def test_otlp_reads_back_as_what_was_read(tmp_path):
    path, again = _written(tmp_path), tmp_path / "again.json"
    written = trace_work.exported([path], "otlp", Reading())
    again.write_bytes(written.document)
    assert trace.profile([again]) == trace.profile([path])
    assert written.note == ""
    chosen = reading(drop=["block"])
    again.write_bytes(trace_work.exported([path], "otlp", chosen).document)
    assert trace.profile([again]).roots == trace_files.profile([path], chosen).roots


def test_otlp_beyond_its_size_holds_whole_trees_and_says_so(tmp_path, monkeypatch):
    path, again = _written(tmp_path), tmp_path / "again.json"
    monkeypatch.setattr(trees, "MOST_EVENTS", 7)
    written = trace_work.exported([path], "otlp", Reading())
    again.write_bytes(written.document)
    found = trace.profile([again])
    assert (found.spans, found.trees, found.losses["missing_parents"]) == (6, 2, 0)
    assert written.note == "3 call trees are left out: a file has at most 7 spans"


def test_the_slowest_tree_is_shown_in_time(tmp_path):
    (one,) = trace.profile([_written(tmp_path)]).timelines
    assert (one.name, one.duration_s, one.left_out) == ("write", 9004e-9, 0)
    calls = [(call.name, call.depth, call.start_s, call.duration_s) for call in one.calls]
    assert calls == [
        ("write", 0, 0, 9004e-9),
        ("block", 1, 10e-9, 7990e-9),
        ("disk", 2, 20e-9, 4980e-9),
    ]
    page = str(body(trace.profile([tmp_path / "trace"])))
    assert TITLE in page
    assert "left:0.222%;width:55.309%" in page


def test_a_long_tree_shows_its_longest_calls(tmp_path):
    spans = [("copy", START, START + 10**6, 1, 0, 1, 0)]
    spans += [
        ("read", START + 1000 * at, START + 1000 * at + at, 2 + at, 1, 1, 0) for at in range(500)
    ]
    _core.trace_write(span_table(spans), "client", str(tmp_path / "trace"), "json")
    (one,) = trace.profile([tmp_path / "trace"]).timelines
    assert (len(one.calls), one.left_out) == (100, 401)
    assert min(call.duration_s for call in one.calls) == 401e-9


def fields(reported: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yields (field number, value) of each field of a protobuf message. A value is a number or
    bytes."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = reported[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(reported):
        key = number()
        size = number()
        if key & 7 == 2:
            yield key >> 3, reported[at : at + size]
            at += size
        else:
            yield key >> 3, size


def numbers(packed: bytes) -> list[int]:
    return [value for _, value in fields(b"".join(b"\x08" + one for one in _split(packed)))]


def _split(packed: bytes) -> Iterator[bytes]:
    start = 0
    for place, byte in enumerate(packed):
        if byte < 0x80:
            yield packed[start : place + 1]
            start = place + 1


def test_pprof_holds_every_stack_with_its_calls_and_own_time():
    whole = list(fields(gzip.decompress(pprof.write(PROFILE))))
    texts = [value.decode() for tag, value in whole if tag == 6]
    kinds = [[texts[place] for _, place in fields(value)] for tag, value in whole if tag == 1]
    assert texts[0] == ""
    assert kinds == [["calls", "count"], ["time", "nanoseconds"]]
    names = {
        one[1]: texts[one[2]] for tag, value in whole if tag == 5 for one in [dict(fields(value))]
    }
    places = {
        one[1]: names[dict(fields(one[4]))[1]]
        for tag, value in whole
        if tag == 4
        for one in [dict(fields(value))]
    }
    stacks = {}
    for tag, value in whole:
        if tag == 2:
            one = dict(fields(value))
            stack = "/".join(places[place] for place in reversed(numbers(one[1])))
            stacks[stack] = numbers(one[2])
    assert stacks == {"a": [2, 5000], "a/b": [2, 3000], "a/w": [2, 9000], "c": [2, 1000]}
