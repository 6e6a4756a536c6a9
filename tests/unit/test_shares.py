"""Tests of the limit of a host's processor time. The limit is applied only after the daemons have
started."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dfslab.spec.deployment import Deployment
from dfslab.spec.model import build
from dfslab.testbeds.hosts.cluster import Cluster


@pytest.fixture
def cluster():
    """Provides a cluster of two hosts. The limits of the hosts are only recorded and not
    applied."""
    nodes = [
        {"name": "small", "cores": 2, "share": 0.25, "roles": {"a": 1}},
        {"name": "whole", "cores": 2, "roles": {"b": 1}},
    ]
    made = object.__new__(Cluster)
    made.deployment = build(Deployment, {"node": nodes})
    made.hosts = [SimpleNamespace(name=node["name"]) for node in nodes]
    made.reported = []
    made._limits = SimpleNamespace(
        processor=lambda name, cores: made.reported.append((name, cores))
    )
    return made


def test_a_share_holds_again_after_the_daemons_have_started(cluster):
    with cluster.whole_processors():
        assert cluster.reported == [("small", 2.0)]
    assert cluster.reported == [("small", 2.0), ("small", 0.5)]


def test_a_share_holds_again_when_they_do_not_start(cluster):
    with pytest.raises(OSError, match="no daemon"), cluster.whole_processors():
        raise OSError("no daemon")
    assert cluster.reported[-1] == ("small", 0.5)
