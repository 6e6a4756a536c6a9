"""Tests of the comparison of traced steps with the steps of a file system's description. The tests
cover the times of steps, steps that only the trace or only the description has, and the errors of
the described times."""

from __future__ import annotations

import pytest
from dfslab import discover
from dfslab.documents.traces.trace_profile import TreeNode
from dfslab.result import Step
from dfslab.studies.traces.traced_steps import compared
from support.profiles import tree_node


def node(name: str, count: int, total_s: float, *children: TreeNode) -> TreeNode:
    return tree_node(name, *children, count=count, total_s=total_s)


def step(name: str, time_s: float, operation: str = "write") -> Step:
    return Step(operation=operation, step=name, time_s_mean=time_s)


NAMED = {("create",): "create", ("close",): "close", ("close/ask", "close/wait"): "finish/rpc_ask"}
ROOTS = [
    node("client:create", 4, 0.4, node("rpc_create", 4, 0.1, node("server:create", 4, 0.05))),
    node("client:close", 4, 2.0, node("finish", 8, 1.6, node("rpc_ask", 8, 0.8))),
    node("client:list", 2, 0.2, node("rpc_list", 2, 0.1)),
]


def test_each_step_is_reported_for_one_operation():
    modelled = [
        step("create", 0.2),
        step("close", 0.4),
        step("close/ask", 0.1),
        step("close/wait", 0.06),
        step("write", 0.3),
    ]
    rows = {(row.step, str(row.traced or "")): row for row in compared(ROOTS, modelled, NAMED)}
    # The call "create" occurs twice in the trace: at the client, and as its handler at the server.
    # The comparison counts it once.
    assert rows["create", "create"].count == 4
    assert rows["create", "create"].traced_s == pytest.approx(0.1)
    assert rows["create", "create"].error == pytest.approx(1.0)
    # The row compares two sums: the time of two steps of the description, and the time of both
    # occurrences of a traced call.
    both = rows["close/ask + close/wait", "finish/rpc_ask"]
    assert both.traced_s == pytest.approx(0.2)
    assert both.modelled_s == pytest.approx(0.16)
    assert both.error == pytest.approx(-0.2)
    assert rows["write", ""].traced_s is None
    assert rows["write", ""].error is None
    assert rows["", "client:list"].count == 2
    assert ("", "client:close/finish") not in rows


def test_spans_of_the_load_are_named_as_the_description_s():
    roots = [node("write", 10, 5.0, node("create", 10, 1.0), node("flush", 10, 0.5))]
    rows = {
        row.step or str(row.traced): row for row in compared(roots, [step("create", 0.05)], NAMED)
    }
    assert rows["create"].traced_s == pytest.approx(0.1)
    assert rows["create"].error == pytest.approx(-0.5)
    assert rows["write/flush"].modelled_s is None


def test_what_the_points_of_a_description_are_called_is_in_it():
    system = discover.file_system("hdfs")
    points = (system.folder / "points.txt").read_text()
    known = set(points.split())
    for end in system.traced.values():
        for word in end.split("/"):
            assert word in known or word.startswith("rpc_"), end
