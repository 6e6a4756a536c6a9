"""Tests of the values that a role has if its nodes have unequal links."""

from __future__ import annotations

import pytest
from dfslab import discover
from dfslab.spec.deployment import Adapter, Deployment, NodeGroup
from dfslab.spec.environment import hardware
from dfslab.spec.scenario import Scenario


def links(*rates_latencies):
    """Returns the hardware symbols of an NFS server group for each (rate in bytes/s, latency in s),
    with one client."""
    nodes = [
        NodeGroup(
            name=f"server-{at}",
            roles={"server": 1},
            adapter=Adapter.model_validate(
                {"bandwidth": f"{rate:g} B/s", "latency": f"{latency:g} s"}
            ),
        )
        for at, (rate, latency) in enumerate(rates_latencies)
    ]
    client = NodeGroup(name="client", roles={"client": 1})
    scenario = Scenario.model_validate(
        {
            "schema": 1,
            "name": "x",
            "title": "x",
            "deployment": Deployment(node=[client, *nodes]).model_dump(mode="json"),
            "file_system": {"name": "nfs"},
            "workload": {"name": "sequential_write"},
            "run": {"methods": ["sequence"]},
        }
    )
    return hardware(scenario, discover.file_system("nfs"))


def test_unequal_links_have_the_values_of_the_slowest_not_their_mean():
    slow, unequal = links((1e8, 2e-3)), links((1e8, 2e-3), (1e9, 0.0))
    for kind in ("nic_bandwidth", "nic_latency"):
        assert unequal[f"server.{kind}"] == pytest.approx(slow[f"server.{kind}"])
    # Each group also has the value of its own link.
    fast = unequal["server-1/server.nic_bandwidth"]
    assert fast == pytest.approx(10 * unequal["server-0/server.nic_bandwidth"])


def test_equal_links_have_their_value():
    assert links((1e8, 1e-3), (1e8, 1e-3))["server.nic_bandwidth"] == pytest.approx(
        links((1e8, 1e-3))["server.nic_bandwidth"]
    )
