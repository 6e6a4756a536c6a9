"""Tests that a change of a key on the command line may make an illegal scenario file legal."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab.cli.shared import read_scenario
from dfslab.spec.input_error import InputError

TRACE = """7 1.000000 openat(AT_FDCWD, "/app/a", O_WRONLY|O_CREAT, 0644) = 3 <0.0001>
7 1.001000 write(3, "x"..., 4096) = 4096 <0.0001>
7 1.002000 close(3) = 0 <0.0001>
"""
SCENARIO = """schema = 1
name = "replayed"
title = "How fast is a trace with more clients than it has?"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
[workload]
name = "replay"
trace = "a.strace"
under = "/app"
clients = 4
[run]
methods = ["sequence"]
"""


@pytest.fixture
def of_four_clients(tmp_path: Path) -> Path:
    """Writes a scenario file with four clients and a trace of a single client, which is illegal
    because the trace has no calls for the other clients. Returns the file's path."""
    (tmp_path / "a.strace").write_text(TRACE)
    path = tmp_path / "replayed.toml"
    path.write_text(SCENARIO)
    return path


@pytest.mark.parametrize(
    ("change", "clients"), [("workload.clients=1", 1), ("workload.copies=private", 4)]
)
def test_a_change_makes_the_file_right(of_four_clients, change, clients):
    assert read_scenario(of_four_clients, [change]).workload.clients == clients


@pytest.mark.parametrize("sets", [None, [], ["workload.clients=3"], ["run.repetitions=2"], ["x"]])
def test_without_such_a_change_the_error_is_that_of_the_file(of_four_clients, sets):
    with pytest.raises(InputError, match="workload.clients = 4: the trace has operations for 1"):
        read_scenario(of_four_clients, sets)
