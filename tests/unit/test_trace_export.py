"""Exports hold every own nanosecond, and read back as the trees that they were."""

from __future__ import annotations

import json

from dfslab.instruments import trace
from dfslab.report.trace_export import chrome, export, speedscope


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
