"""Tests that changes of a scenario are carried out on real testbeds. On NFS, the predicted effect
of an advised change is verified by measurement. On GlusterFS, settings are tuned."""

from __future__ import annotations

import json

import pytest
from dfslab.spec.scenario import read
from dfslab.studies.trials.intervention_record import read_records
from dfslab.testbeds import registry
from support.command import dfslab

pytestmark = pytest.mark.testbed
SCENARIO = """
schema = 1
name = "small"

[deployment]
# A busy machine may give less than the declared rates; other tests check these.
tolerance = 0.9

[[deployment.node]]
name = "server"
count = {servers}
roles = {{ {role} = 1 }}
disk = {{ read_rate = "{disk}", write_rate = "{disk}", latency = "0 s" }}
adapter = {{ bandwidth = "1 Gbit/s" }}
[[deployment.node]]
name = "client"
roles = {{ client = 1 }}
adapter = {{ bandwidth = "1 Gbit/s" }}
[deployment.network]
latency = "500 us"
[file_system]
name = "{system}"
access = {{ testbed = true }}
[workload]
name = "sequential_write"
file_size = "{size}"
transfer_size = "{transfer}"
operations_per_client = 4
fsync = true
[run]
methods = ["measure", "sequence"]
"""


def scenario(folder, **values):
    """Writes the scenario with these values to a file and returns its path."""
    path = folder / "small.toml"
    path.write_text(SCENARIO.format(**values))
    return path


@pytest.mark.quiet
def test_advice_on_a_slow_disk_comes_true(nothing_left, tmp_path):
    """The disk of 15 MB/s limits the writes. A disk that is twice as fast nearly doubles the rate,
    whatever else the machine does."""
    path = scenario(
        tmp_path,
        system="nfs",
        role="server",
        servers=1,
        disk="15 MB/s",
        size="16 MiB",
        transfer="1 MiB",
    )
    words = ("advise", path, "--verify", "2", "--pairs", "2", "--time", "3 min", "--json")
    done = dfslab(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["verified"]
    disk = next(row for row in found["rows"] if "disk x2" in row["change"])
    assert disk["predicted"]["low"] < disk["predicted"]["high"]
    assert 1.2 < disk["real"]["gain"] < 2.6
    assert disk["real"]["pairs"] == 2
    kept = read_records(tmp_path / "runs" / "interventions.jsonl")
    assert [one.predicted.id for one in kept] == [row["record"] for row in found["rows"]]
    assert registry.list_testbeds() == []


def test_glusterfs_is_tuned_and_nothing_is_left(nothing_left, tmp_path):
    path = scenario(
        tmp_path,
        system="glusterfs",
        role="brick",
        servers=2,
        disk="200 MB/s",
        size="1 MiB",
        transfer="4 KiB",
    )
    done = dfslab("tune", path, "--runs", "1", "-o", "kept.toml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (tried,) = found["tried"]
    assert f"run 1: {tried['change']}, predicted ×" in done.stderr
    assert tried["real"]["gain"] > 0
    assert found["runs"] == 3
    kept, start = read(tmp_path / "kept.toml"), read(path)
    is_changed = (kept.workload, kept.file_system) != (start.workload, start.file_system)
    assert is_changed == bool(found["kept"])
    assert registry.list_testbeds() == []
