"""Tests that `dfslab predict` lists exactly the hardware values that the scenario does not
declare."""

from __future__ import annotations

import json
import tomllib

import pytest
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.hardware.undeclared import undeclared
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.studies.expect.assumptions import without_assumed
from support.command import dfslab

SCENARIO = """
schema = 1
name = "assumed"
[[deployment.node]]
name = "server"
roles = {{ server = 1 }}
disk = {{ read_rate = "2 GB/s", write_rate = "2 GB/s", latency = "20 us" }}
adapter = {{ bandwidth = "1 Gbit/s" }}
{declared}
[[deployment.node]]
name = "client"
roles = {{ client = 1 }}
adapter = {{ bandwidth = "1 Gbit/s" }}
{declared}
[file_system]
name = "nfs"
[workload]
name = "sequential_write"
[run]
methods = ["sequence"]
"""
# The declared values equal the assumed defaults. Such values must still count as declared.
ALL = 'cores = 2\nfrequency = "2.5 GHz"\nmemory = "8 GiB"'


@pytest.mark.parametrize(
    ("declared", "assumed"),
    [
        ("", "cores 2, memory 8 GiB, frequency 2.5 GHz"),
        ("cores = 2", "memory 8 GiB, frequency 2.5 GHz"),
        (ALL, ""),
    ],
    ids=["nothing", "cores", "all"],
)
def test_predict_lists_what_is_not_declared(declared, assumed, tmp_path):
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO.format(declared=declared))
    (result,) = json.loads(dfslab("predict", file, "--json").stdout)
    found = [one for one in result["notes"] if one.startswith("not declared")]
    shown = " ".join(dfslab("predict", file).stdout.split())
    if not assumed:
        assert found == []
        assert "not declared" not in shown
        return
    (note,) = found
    assert f"assumed of server, client: {assumed}" in note
    assert note in shown
    assert "--set deployment.node.server.frequency=VALUE" in note


def test_what_init_assumes_is_not_written_as_declared():
    roles = {"client": 1, "storage": 1}
    group = NodeGroup(name="machine", roles=roles).model_copy(update={"cores": 2})
    table = {
        "name": "place",
        "deployment": without_assumed(Deployment(node=[group])),
        "file_system": {"name": "local"},
        "workload": {"name": "sequential_read"},
    }
    written = build(Scenario, tomllib.loads(build(Scenario, table).brief_toml()))
    assert written.deployment.node[0].cores == 2
    assert "cores" in written.deployment.node[0].model_fields_set
    assert "assumed of machine: memory 8 GiB, frequency 2.5 GHz" in " ".join(
        undeclared(written.deployment, "client")
    )
