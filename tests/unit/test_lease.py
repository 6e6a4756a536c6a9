"""A load does not go on for longer than its lease when its controller has gone."""

import os

from dfslab.fleet.places import LEASE_S, Nodes
from support.running_agent import running_agent

# Only ends what hangs: without a lease the load lasts for days.
HANGS_S = 300


def test_an_agent_without_its_controller_stops_and_removes_its_files(tmp_path):
    folder, kept = tmp_path / "t", tmp_path / "kept"
    folder.mkdir()
    with running_agent(folder, "--keep", str(kept), "--lease", "0.2") as agent:
        agent.stdin.close()
        agent.wait(HANGS_S)
        assert os.listdir(folder) == []
        assert not kept.exists()


def test_clusters_of_the_user_have_no_lease():
    assert Nodes("tcp://127.0.0.1:8786").lease_s is None
    assert Nodes("tcp://127.0.0.1:8786", leased=True).lease_s == LEASE_S < 15
