"""Tests of a note in predictions, `whatif` and advice. The note states that written data are
assumed to stay in the servers' memory, so that the declared rate of the servers' disks has no
effect."""

from __future__ import annotations

import pytest
from dfslab.spec.systems.memory_writes import memory_writes, stated
from support.command import dfslab

KEY = "deployment.node.filer.disk.write_rate"
SCENARIO = """
schema = 1
name = "filer"
[[deployment.node]]
name = "filer"
roles = { server = 1 }
memory = "64 GiB"
disk = { write_rate = "50 MB/s" }
adapter = { bandwidth = "10 Gbit/s" }
[[deployment.node]]
name = "client"
count = 8
roles = { client = 1 }
adapter = { bandwidth = "10 Gbit/s" }
[file_system]
name = "nfs"
[workload]
name = "sequential_write"
clients = 8
[run]
methods = ["sequence"]
"""
# Settings of the workload with which the rate of the disk affects the prediction.
SEEN = ("workload.fsync=true", "workload.file_size=16 GiB", "workload.operations_per_client=20000")


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "filer.toml"
    path.write_text(SCENARIO)
    return str(path)


def answer(*arguments):
    """Runs a command and returns its output, with each run of white space replaced by one space."""
    done = dfslab(*arguments)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("command", "before"),
    [
        (("predict",), "The limit by sequence"),
        (("whatif", "server disk x10"), "server disk x10: write: no gain"),
        (("advise",), ""),
    ],
)
def test_an_answer_says_that_a_disk_has_no_effect_and_what_to_set(scenario, command, before):
    name, *changes = command
    (sentence,) = memory_writes([KEY])
    shown = answer(name, scenario, *changes)
    assert sentence in shown[shown.index(before) :]
    assert all(one.split("=")[0] in sentence for one in SEEN)


@pytest.mark.parametrize("change", SEEN)
def test_the_sentence_is_gone_if_the_disk_limits_the_rate(scenario, change):
    shown = answer("predict", scenario, "--set", change)
    assert not any(start in shown for start in ("Writes are assumed", KEY))
    assert "filer.disk, saturated" in shown


def test_an_undeclared_disk_is_not_named(scenario, tmp_path):
    path = tmp_path / "other.toml"
    path.write_text(SCENARIO.replace('disk = { write_rate = "50 MB/s" }', ""))
    assert "Writes are assumed" not in answer("predict", str(path))


def test_notes_of_several_predictions_state_the_sentence_once():
    (sentence,) = memory_writes([KEY])
    assert stated(["a note", sentence, sentence]) == [sentence]
    assert memory_writes([]) == []


PROBED = """
schema = 1
name = "probed"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
disk = { write_rate = "50 MB/s" }
local_files = { write_rate = "90 MB/s", commit_rate = "80 MB/s", commits = "800 /s" }
[file_system]
name = "local"
[workload]
name = "sequential_write"
file_size = "4 KiB"
fsync = true
clients = 2
[run]
methods = ["sequence"]
"""


def test_a_measured_rate_is_named_where_it_replaces_the_rate_of_the_disk(tmp_path):
    path = tmp_path / "probed.toml"
    path.write_text(PROBED)
    shown = answer("whatif", str(path), "machine disk x10")
    rate = "deployment.node.machine.disk.write_rate"
    assert f"{rate} has no effect, because the measured" in shown
    assert "machine.local_files.commit_rate replace it" in shown
    assert "end in the memory" not in shown
