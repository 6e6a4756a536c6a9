"""Tests of changes of a disk whose fsync and direct requests were measured.

The named limit, the predicted gain of a faster disk, and the list of keys without effect do not
contradict each other.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab.models.tree.ignored import ignored
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.prediction import Situation, situation_of
from dfslab.spec.changes.change_language import apply, parse_change
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario, read

NODE = "deployment.node.machine"
FORCED = {
    "name": "sequential_write",
    "file_size": "64 MiB",
    "transfer_size": "1 MiB",
    "fsync": True,
    "clients": 1,
}
MEASURED = {
    "commit_time": "2 ms",
    "commit_rate": "100 MB/s",
    "commits": "900 /s",
    "commits_rate": "150 MB/s",
    "read_time": "0.2 ms",
    "requests": "6000 /s",
}


@pytest.fixture(scope="module")
def local() -> Scenario:
    disk = {"read_rate": "400 MB/s", "write_rate": "250 MB/s", "latency": "50 us"}
    node = {"name": "machine", "disk": disk, "local_files": MEASURED, "cores": 2}
    return build(
        Scenario,
        {
            "name": "measured-disk",
            "deployment": {"node": [{**node, "roles": {"client": 1, "storage": 1}}]},
            "file_system": {"name": "local"},
            "workload": FORCED,
        },
        "",
    )


def rate(scenario: Scenario) -> float:
    situation = situation_of(scenario)
    return situation.predict(situation.constants).rate_per_s


def test_a_faster_disk_also_has_a_faster_fsync(local):
    values = parse_change("disk x2", local).values
    assert values[f"{NODE}.local_files.commit_rate"] == "200000000.0 B/s"
    assert values[f"{NODE}.local_files.commits_rate"] == "300000000.0 B/s"
    assert f"{NODE}.local_files.commits" not in values


def test_a_disk_that_is_named_as_the_limit_gains_if_it_is_faster(local):
    situation = Situation(local)
    limit = limits_of(situation, situation.constants)[0]
    assert limit.name == "machine.disk"
    gain = rate(apply(local, [parse_change("disk x2", local)])) / rate(local)
    assert gain == pytest.approx(2**limit.share, rel=0.1)


def test_half_the_latency_halves_times_and_doubles_requests(local):
    values = parse_change("disk latency /2", local).values
    assert values[f"{NODE}.local_files.read_time"] == "0.0001 s"
    assert values[f"{NODE}.local_files.requests"] == "12000.0 1/s"


def test_a_single_key_changes_alone_and_is_named_as_without_effect(local):
    change = parse_change(f"{NODE}.disk.write_rate=750 MB/s", local)
    assert set(change.values) == {f"{NODE}.disk.write_rate"}
    changed = situation_of(apply(local, [change]))
    assert f"{NODE}.disk.write_rate" in ignored(changed, changed.constants)


def test_a_write_rate_that_acts_is_not_named(local):
    without = local.with_values({"workload.fsync": False, "workload.operations_per_client": 20_000})
    situation = situation_of(without)
    assert f"{NODE}.disk.write_rate" not in ignored(situation, situation.constants)


def test_servers_keep_their_measured_local_files():
    scenario = read(Path(__file__).parents[2] / "scenarios" / "nfs.toml").points()[0].scenario
    group = next(one for one in scenario.deployment.node if "server" in one.roles)
    files = group.local_files.model_copy(update={"commit_rate": 1e8})
    nodes = [
        one.model_copy(update={"local_files": files}) if one is group else one
        for one in scenario.deployment.node
    ]
    deployment = scenario.deployment.model_copy(update={"node": nodes})
    changed = scenario.model_copy(update={"deployment": deployment})
    found = parse_change("server disk x2", changed).values
    assert not any("local_files" in key for key in found)
