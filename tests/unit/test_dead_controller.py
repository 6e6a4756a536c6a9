"""Tests that a workload run ends when the process that controls it has ended."""

import os
import subprocess
from dataclasses import replace

import pytest
from dfslab.fleet.client_hosts import Nodes
from dfslab.testbeds.hosts.process import LiveProcess
from support.running_agent import running_agent

# Time limit in seconds within which the run has to end after its controller has ended. The workload
# would take days, so the run exceeds the limit only if it does not notice the end of its
# controller.
HANGS_S = 300


@pytest.mark.parametrize("is_connected", [True, False])
def test_an_agent_stops_with_its_controller_and_removes_its_files(tmp_path, is_connected):
    folder, kept = tmp_path / "t", tmp_path / "kept"
    folder.mkdir()
    with subprocess.Popen(["sleep", "600"]) as controller:
        words = ("--keep", str(kept), "--controller", LiveProcess.of(controller.pid).text)
        with running_agent(folder, *words) as agent:
            if not is_connected:
                agent.stdin.close()
            controller.kill()
            controller.wait()
            agent.wait(HANGS_S)
            assert os.listdir(folder) == []
            assert not kept.exists()


def test_an_agent_of_a_controller_elsewhere_stops_when_its_worker_ends(tmp_path):
    folder, kept = tmp_path / "t", tmp_path / "kept"
    folder.mkdir()
    elsewhere = replace(LiveProcess.of(os.getpid()), boot="another machine's")
    with running_agent(folder, "--keep", str(kept), "--controller", elsewhere.text) as agent:
        agent.stdin.close()
        agent.wait(HANGS_S)
        assert os.listdir(folder) == []
        assert not kept.exists()


def test_agents_watch_the_controller_only_in_clusters_that_dfslab_started():
    assert Nodes("tcp://127.0.0.1:8786").controller is None
    assert Nodes("tcp://127.0.0.1:8786", own=True).controller == LiveProcess.of(os.getpid())


def test_a_process_as_text_is_read_again():
    own = LiveProcess.of(os.getpid())
    assert LiveProcess.from_text(own.text) == own
