"""Tests the names of the goals of advice, and of the kinds of changes."""

from __future__ import annotations

from typing import get_args

import pytest
from dfslab.spec.changes.change import KINDS, ChangeKind, kind_of
from dfslab.spec.changes.goal import GOALS, Goal, goal_of
from dfslab.spec.input_error import InputError


def test_every_goal_has_its_operations():
    assert tuple(GOALS) == get_args(Goal)
    assert [goal_of(name) for name in GOALS] == list(GOALS)


def test_an_unknown_goal_names_the_allowed_ones():
    with pytest.raises(InputError, match="--goal = 'speed': must be one of rate, read_throughput"):
        goal_of("speed")


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("workload.clients", "clients"),
        ("deployment.node.server.count", "servers"),
        ("deployment.node.server.disk.read_rate", "disk"),
        ("deployment.network.latency", "latency"),
        ("workload.file_size", "size"),
        ("workload.arrival", "setting"),
    ],
)
def test_the_key_decides_the_kind_of_a_change(key, kind):
    assert kind_of(key) == kind
    assert kind in KINDS
    assert get_args(ChangeKind) == KINDS
