"""Exports hold every own nanosecond, and read back as the trees that they were."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

from dfslab.instruments import trace
from dfslab.report import trace_export
from dfslab.report.trace_export import chrome, export, pprof, speedscope


def node(name, own, children=(), kind="service"):
    return {"name": name, "kind": kind, "count": 2, "bytes": 0, "self_ns": own,
            "children": list(children)}  # fmt: skip


PROFILE = {"roots": [node("a", 5000, [node("b", 3000), node("w", 9000, kind="blocked"),
                                      node("d", 70, kind="detail")]), node("c", 1000)]}  # fmt: skip


def test_speedscope_weighs_each_stack_by_its_own_time():
    told = speedscope(PROFILE)
    names = [frame["name"] for frame in told["shared"]["frames"]]
    (one,) = told["profiles"]
    stacks = {
        "/".join(names[frame] for frame in stack): weight
        for stack, weight in zip(one["samples"], one["weights"], strict=True)
    }
    assert stacks == {"a": 5000, "a/b": 3000, "a/w": 9000, "c": 1000}
    assert one["endValue"] == 18_000


def test_chrome_reads_back_as_the_same_trees(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(export(PROFILE, "chrome"))
    found = trace.profile([path])
    (a, c) = found["roots"]
    assert (a["name"], a["total_ns"], a["self_ns"]) == ("a", 17_000, 5000)
    assert {child["name"]: child["self_ns"] for child in a["children"]} == {"b": 3000, "w": 9000}
    assert (c["name"], c["total_ns"]) == ("c", 1000)
    assert chrome(PROFILE)["otherData"]["left_out"] == 1
    assert json.loads(export(PROFILE, "speedscope"))["exporter"] == "dfslab"


def test_chrome_says_what_it_leaves_out_for_size(monkeypatch):
    monkeypatch.setattr(trace_export, "MOST_EVENTS", 2)
    found = chrome(PROFILE)
    assert len(found["traceEvents"]) == 2
    # The detail, and what there was no room for.
    assert found["otherData"]["left_out"] == 3


def fields(told: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(tag, value) of a protobuf message: numbers, or the bytes of all else."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = told[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(told):
        key = number()
        size = number()
        if key & 7 == 2:
            yield key >> 3, told[at : at + size]
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
    whole = list(fields(gzip.decompress(pprof(PROFILE))))
    texts = [value.decode() for tag, value in whole if tag == 6]
    kinds = [[texts[place] for _, place in fields(value)] for tag, value in whole if tag == 1]
    assert texts[0] == ""
    assert kinds == [["calls", "count"], ["time", "nanoseconds"]]
    names = {one[1]: texts[one[2]] for tag, value in whole if tag == 5
             for one in [dict(fields(value))]}  # fmt: skip
    places = {one[1]: names[dict(fields(one[4]))[1]] for tag, value in whole if tag == 4
              for one in [dict(fields(value))]}  # fmt: skip
    stacks = {}
    for tag, value in whole:
        if tag == 2:
            one = dict(fields(value))
            stack = "/".join(places[place] for place in reversed(numbers(one[1])))
            stacks[stack] = numbers(one[2])
    assert stacks == {"a": [2, 5000], "a/b": [2, 3000], "a/w": [2, 9000], "c": [2, 1000]}
