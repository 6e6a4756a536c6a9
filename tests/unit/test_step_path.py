"""Tests of paths of steps. The name of a step or of a node group may contain a "/". Such a "/" is
part of the name and does not separate two names."""

from __future__ import annotations

import pytest
from dfslab.models.fit import step_functions
from dfslab.models.tree.placement import Placement
from dfslab.models.tree.reader import TreeReader
from dfslab.result import Metric, Result, Step, provenance
from dfslab.spec.deployment import Deployment
from dfslab.spec.environment import group_of, is_of_group, of_group, of_role
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps import operation as op
from dfslab.spec.steps.step_path import StepPath
from dfslab.studies import step_statements
from dfslab.studies.step_times import whole
from pydantic import TypeAdapter

JOURNAL = "mds/journal"
INNER = StepPath.of("open", JOURNAL)
SIZES = ["4 KiB", "64 KiB", "1 MiB", "4 MiB", "16 MiB", "64 MiB"]


def points():
    """Returns configurations of HDFS reads at six file sizes."""
    node = {"name": "all", "count": 3, "roles": {"client": 1, "namenode": 1, "datanode": 1}}
    made = {
        "name": "slash",
        "deployment": {"node": [node]},
        "file_system": {"name": "hdfs", "access": {"testbed": True}},
        "workload": {"name": "sequential_read"},
        "sweep": [{"workload.file_size": SIZES}],
    }
    return build(Scenario, made).points()


def measured(point, times_s):
    """Returns a measured result of the operation read with step times in seconds by path."""
    return Result(
        method="measure",
        point_id=point.id,
        point=point,
        repetition=0,
        metrics={"rate_per_s": Metric(value=1.0)},
        steps=[
            Step(operation="read", step=str(path), time_s_mean=time_s, count=8)
            for path, time_s in times_s.items()
        ],
        provenance=provenance(1),
    )


@pytest.mark.parametrize(
    "names", [("open",), ("open", "getBlockLocations"), ("a/b", "c~d"), ("~1", "/"), ("", "x")]
)
def test_the_text_of_a_path_is_read_as_the_same_path(names):
    path = StepPath(names)
    assert StepPath.read(str(path)) == path
    adapter = TypeAdapter(StepPath)
    assert adapter.validate_json(adapter.dump_json(path)) == path


def test_a_path_knows_what_is_around_it():
    assert INNER.parent == INNER.outermost == StepPath.of("open")
    assert not INNER.is_outermost
    assert StepPath.of(JOURNAL).is_outermost
    assert StepPath.of(JOURNAL).parent is None
    assert StepPath.read("open/getBlockLocations").names == ("open", "getBlockLocations")


def test_the_cost_of_a_tree_keeps_the_whole_name_of_a_step():
    node = {"name": "one", "cores": 2, "roles": {"client": 1, "server": 1}}
    deployment = build(Deployment, {"node": [node]})
    tree = op.seq(
        op.seq(op.delay("client", 0.2, JOURNAL), op.delay("client", 0.1, "reply"), name="open"),
        op.delay("client", 0.4, "close/flush"),
    )
    cost = TreeReader(Placement(deployment), {}).read(tree)
    assert {path: one.latency_s for path, one in cost.steps.items()} == {
        StepPath.of("open"): pytest.approx(0.3),
        INNER: pytest.approx(0.2),
        StepPath.of("open", "reply"): pytest.approx(0.1),
        StepPath.of("close/flush"): pytest.approx(0.4),
    }


def test_the_self_time_of_a_step_leaves_out_its_inner_calls_only():
    """A step whose name contains "/" is not mistaken for an inner call. Here "mds/journal" is an
    outermost step and no call within the step "mds". The time of "mds/journal" is therefore not
    subtracted from the self time of "mds"."""
    times_s = {
        StepPath.of("mds"): 0.5,
        StepPath.of(JOURNAL): 0.3,
        StepPath.of("mds", "log/append"): 0.2,
    }
    found = whole(measured(points()[0], times_s))
    rests = {one.path: one.time_s_mean for one in found.steps if one.path.names[-1] == "rest"}
    assert rests == {StepPath.of("mds", "rest"): pytest.approx(0.3)}


def test_an_expectation_compares_steps_of_one_outer_step(monkeypatch):
    """An expectation compares only steps that have the same outer step. Here both compared steps
    are outermost steps, and the name of one of them contains "/"."""
    point = points()[0]
    times_s = {StepPath.of(JOURNAL): 0.9, StepPath.of("read"): 0.1, INNER: 0.01}
    monkeypatch.setattr(step_statements.SequenceModel, "run", lambda _, one: measured(one, times_s))
    (stated,) = step_statements.expectations([point])
    assert (stated.kind, stated.step, stated.other_step) == (
        "dominates",
        StepPath.of(JOURNAL),
        StepPath.of("read"),
    )
    (verdict,) = step_statements.score([stated], [measured(point, times_s)])
    assert verdict.measured == pytest.approx(9)


def test_an_operation_is_the_sum_of_its_outermost_steps():
    """The function of the whole operation is the sum of the functions of its outermost steps. The
    name of one of these steps contains "/"."""
    times_s = {StepPath.of("whole"): 0.5, StepPath.of(JOURNAL): 0.3, StepPath.of("close"): 0.2}
    found = step_functions.fit([measured(point, times_s) for point in points()])
    (operation,) = (one for one in found if one.step == "whole")
    assert {part.step for part in operation.parts} == {str(StepPath.of(JOURNAL)), "close"}


def test_the_name_of_a_node_group_may_contain_a_slash():
    key = of_group("datanode.disk_rate", "rack/1")
    assert is_of_group(key)
    assert (group_of(key), of_role(key)) == ("rack/1", "datanode.disk_rate")
    assert (group_of("datanode.disk_rate"), of_role("datanode.disk_rate")) == (
        "",
        "datanode.disk_rate",
    )
