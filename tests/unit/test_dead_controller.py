"""Tests that a workload run ends when the process that controls it has ended."""

import os
import subprocess

from dfslab.fleet.places import Nodes
from dfslab.testbeds.hosts.process import LiveProcess
from support.running_agent import running_agent

# A limit that only ends a test that hangs: the workload would run for days.
HANGS_S = 300


def test_an_agent_whose_controller_has_ended_stops_and_removes_its_files(tmp_path):
    folder, kept = tmp_path / "t", tmp_path / "kept"
    folder.mkdir()
    with subprocess.Popen(["sleep", "600"]) as controller:
        ended = LiveProcess.of(controller.pid)
        controller.kill()
    with running_agent(folder, "--keep", str(kept), "--controller", ended.text) as agent:
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
