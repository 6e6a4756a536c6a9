"""Tests of the warm-up of a newly started testbed. The warm-up is short by default. A scenario may
request a longer warm-up."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dfslab.instruments.measuring import warm_up as warming
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.target import HdfsTarget
from dfslab.testbeds.capabilities import WarmUp


@pytest.fixture
def given(monkeypatch):
    """Provides a list of warm-up plans. A plan that would warm up a new testbed is appended to this
    list instead of being run."""
    plans = []
    monkeypatch.setattr(warming.fleet, "run_load", lambda plan, *more: plans.append(plan))
    return plans


def warm_up(**run):
    nodes = [{"name": "one", "roles": {"client": 1, "namenode": 1, "datanode": 3}}]
    (point,) = build(
        Scenario,
        {
            "name": "warm",
            "deployment": {"node": nodes},
            "file_system": {"name": "hdfs", "access": {"testbed": True}},
            "workload": {"name": "sequential_read"},
            "run": run,
        },
    ).points()
    session = SimpleNamespace(testbed=None, notify=print, client_hosts=lambda scenario: [])
    target = HdfsTarget(
        uri="hdfs://n:1", replication=3, block_size_bytes=1 << 20, direct=True, drop_caches="system"
    )
    warming.warm_up(point, target, session, None)


def test_a_fresh_testbed_is_always_given_some_of_every_operation(given):
    warm_up()
    (plan,) = given
    assert {one.operation for one in plan.stream.mix} == set(warming.WARM_UP_MIX)
    assert plan.time_limit_s == WarmUp().limit_s


def test_it_neither_bypasses_nor_drops_caches_whatever_the_scenario_requests(given):
    warm_up()
    (plan,) = given
    assert not plan.target.direct
    assert plan.target.drop_caches == "none"


def test_for_the_requested_time_it_runs_small_operations(given):
    warm_up(warm_up="7 s")
    (plan,) = given
    assert {one.operation for one in plan.stream.mix} == set(warming.WARM_UP_MIX)
    assert plan.time_limit_s == 7.0
    assert plan.stream.file_size.fixed == warming.WARM_UP_SMALL_BYTES
    assert plan.stream.clients == warming.WARM_UP_CLIENTS
