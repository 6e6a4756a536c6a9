"""Tests of hardware profiles, which hold measured limits of hosts. A calibration writes them, a
deployment refers to them by name, and predictions use them."""

from __future__ import annotations

import pytest
from dfslab import discover
from dfslab.instruments.calibration import calibrate
from dfslab.instruments.calibration import calibrate_testbed as calibrate_testbed
from dfslab.instruments.calibration.quantities import Quantity, quantity
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario, read

MEASURED = {
    "memory_copy_rate": ("B/s", 4e9),
    "system_call": ("s", 2e-7),
    "disk_write_rate": ("B/s", 8e7),
    "kept_read_rate": ("B/s", 3e9),
    "kept_read_call": ("s", 9e-7),
    "disk_read_rate": ("B/s", 1.6e8),
    "disk_access": ("s", 2e-3),
    "disk_burst": ("s", 0.5),
    "disk_access_in_order": ("s", 1e-4),
    "disk_access_4_in_flight": ("s", 4e-3),
    "disk_access_4_processor_share": ("1", 0.1),
    "disk_access_16_in_flight": ("s", 1.6e-2),
    "disk_access_16_processor_share": ("1", 0.9),
    "network_rate": ("B/s", 5e7),
    "network_rate_4_streams": ("B/s", 6e7),
    "network_round_trip": ("s", 3e-3),
    "network_round_trip_loaded": ("s", 9e-3),
    "loopback_round_trip": ("s", 4e-5),
    "loopback_round_trip_loaded": ("s", 8e-5),
}
SCENARIO = """
name = "profiled"
[deployment]
{profile}
[[deployment.node]]
name = "brick"
count = 2
roles = {{ brick = 1 }}
{of_node}
[deployment.node.disk]
write_rate = "70 MB/s"
[[deployment.node]]
name = "client"
roles = {{ client = 1 }}
[file_system]
name = "glusterfs"
[workload]
name = "sequential_write"
[run]
methods = ["sequence"]
"""


def measured(share: float = 1.0) -> list[Quantity]:
    """Returns measured quantities of a host. Each has two values: 0.95 and 1.05 times `share` times
    the value in MEASURED."""
    return [
        quantity(name, unit, [mean * share * 0.95, mean * share * 1.05])
        for name, (unit, mean) in MEASURED.items()
    ]


def written(tmp_path, profile='profile = "hosts.toml"', of_node="") -> Scenario:
    """Writes the hardware profile of a testbed with two node groups. Returns a scenario in the same
    folder that refers to this profile. `profile` is TOML text for the scenario's table of the
    deployment, and `of_node` for its table of the node."""
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO.format(profile=profile, of_node=of_node))
    plain = SCENARIO.format(profile="", of_node="")
    (tmp_path / "plain.toml").write_text(plain)
    deployment = read(tmp_path / "plain.toml").deployment
    found = {"brick": measured(), "client": measured(2.0)}
    (tmp_path / "hosts.toml").write_text(calibrate_testbed.toml(found, deployment))
    return read(path)


def test_a_deployment_takes_what_it_leaves_out_and_keeps_what_it_says(tmp_path):
    brick, client = written(tmp_path).deployment.node
    assert brick.disk.write_rate == 7e7
    assert brick.disk.read_rate == pytest.approx(1.6e8, rel=1e-3)
    assert client.disk.write_rate == pytest.approx(1.6e8, rel=1e-3)
    assert client.disk.latency == pytest.approx(4e-3, rel=1e-3)
    assert (brick.copy_rate, brick.call_time) == (pytest.approx(3e9), pytest.approx(9e-7))
    assert (brick.count, brick.roles) == (2, {"brick": 1})
    # The one-way latency is half of the shortest measured round trip.
    network = written(tmp_path).deployment.network
    assert network.latency == pytest.approx(1.5e-3, rel=1e-3)
    assert network.loopback_latency == pytest.approx(2e-5, rel=1e-3)


def test_predictions_use_it_and_configurations_keep_it(tmp_path):
    given = written(tmp_path)
    assert build(Scenario, given.model_dump(mode="json")) == given
    plain = read(tmp_path / "plain.toml")

    def rate(scenario: Scenario) -> float:
        return discover.method("sequence").run(Point(scenario=scenario, labels={})).value()

    # The measured adapter of 50 MB/s is slower than the default of 10 Gbit/s.
    assert rate(given) < 0.5 * rate(plain)
    assert given.points()[0].id != plain.points()[0].id
    varied = given.with_values({"workload.clients": 2})
    assert varied.deployment == given.deployment


def test_a_group_may_have_a_profile_of_its_own(tmp_path):
    this = [one for one in measured() if not one.name.startswith("network")]
    this.append(quantity("loopback_rate", "B/s", [1e9, 1.1e9]))
    (tmp_path / "machine.toml").write_text(calibrate.toml(this))
    brick, client = written(tmp_path, "", 'profile = "machine.toml"').deployment.node
    assert brick.adapter.bandwidth == pytest.approx(1.05e9, rel=1e-3)
    assert client.adapter.bandwidth == 1.25e9


def test_a_link_that_no_peer_can_fill_is_not_claimed(tmp_path):
    groups = {"brick": "100 Mbit/s", "client": "1 Gbit/s"}
    nodes = [
        {"name": name, "roles": {name: 1}, "adapter": {"bandwidth": rate}}
        for name, rate in groups.items()
    ]
    deployment = build(
        Scenario,
        {
            "name": "x",
            "deployment": {"node": nodes},
            "file_system": {"name": "glusterfs"},
            "workload": {"name": "sequential_write"},
        },
    ).deployment
    text = calibrate_testbed.toml({"brick": measured(), "client": measured()}, deployment)
    assert [line[:22] for line in text.splitlines() if "bandwidth" in line] == [
        'bandwidth = "50 MB/s" ',
        "# No other host can ta",
    ]


@pytest.mark.parametrize(
    ("profile", "of_node", "message"),
    [
        ('profile = "none.toml"', "", r"deployment\.profile = 'none.toml': no such file"),
        ("profile = 3", "", r"deployment\.profile = 3: must be the name of a file"),
        ('profile = "scenario.toml"', "", r"is no profile: it must hold a deployment and nothing"),
        ('profile = "broken.toml"', "", r"is not TOML: "),
        ('profile = "wrong.toml"', "", r"is wrong: deployment\.node\.0\.disk\.read_rate"),
        ('profile = "other.toml"', "", r"says nothing of group brick; it knows a, b"),
        ("", 'profile = "other.toml"', r"deployment\.node\.brick\.profile = 'other.toml': says"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, profile, of_node, message):
    (tmp_path / "broken.toml").write_text("deployment = [")
    (tmp_path / "wrong.toml").write_text(
        "[[deployment.node]]\n[deployment.node.disk]\nread_rate = 'fast'"
    )
    (tmp_path / "other.toml").write_text(
        "[[deployment.node]]\nname = 'a'\n[[deployment.node]]\nname = 'b'"
    )
    with pytest.raises(InputError, match=message):
        written(tmp_path, profile, of_node)


def test_a_profile_is_read_with_the_file_alone(tmp_path):
    given = written(tmp_path)
    with pytest.raises(InputError, match="can only be named in a scenario's file"):
        given.with_overrides({"deployment.profile": "hosts.toml"})


def test_only_hosts_of_testbeds_are_measured(tmp_path):
    with pytest.raises(InputError, match=r"only the hosts of a testbed are measured"):
        calibrate_testbed.measure(written(tmp_path), 2)
    with pytest.raises(InputError, match="between 2 and 1000"):
        calibrate_testbed.measure(written(tmp_path), 1)
