"""Tests that a deployment is translated into the right shell commands and control-group limits.
Further tests check that invalid parameters are refused. The tests need no root rights."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.spec.deployment import Deployment
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.standard import delay, rate, standard
from dfslab.testbeds.hosts import kernel, network
from dfslab.testbeds.hosts.control_groups import ControlGroups
from dfslab.testbeds.hosts.host import Host
from dfslab.testbeds.hosts.machine import Check, busy_words, disk_limits, link_of, not_made
from dfslab.testbeds.hosts.network import EmulatedLink
from dfslab.testbeds.hosts.process import LiveProcess
from dfslab.testbeds.settings import check_layout, parsed


@pytest.fixture
def host():
    me = LiveProcess.of(os.getpid())
    return Host("server-1", "server", network.address(1), me, Path("/bed/server-1"), {})


def test_version_one_limits_are_one_file_each(tmp_path):
    for name in ("cpu", "memory", "blkio"):
        (tmp_path / name).mkdir()
    limits = ControlGroups("abc", tmp_path)
    groups = limits.make("server-1", 1.0, 1 << 28)
    own = "dfslab-abc/server-1"
    assert groups == (tmp_path / "cpu" / own, tmp_path / "memory" / own, tmp_path / "blkio")
    assert (groups[0] / "cpu.cfs_quota_us").read_text() == "100000\n"
    assert (groups[1] / "memory.limit_in_bytes").read_text() == f"{1 << 28}\n"
    limits.disk("server-1", "7:3", {"read_bytes_per_s": 1e6})
    assert (tmp_path / "blkio/blkio.throttle.read_bps_device").read_text() == "7:3 1000000\n"
    assert (tmp_path / "blkio/blkio.throttle.write_bps_device").read_text() == "7:3 0\n"
    limits.lift("7:3")
    assert (tmp_path / "blkio/blkio.throttle.read_bps_device").read_text() == "7:3 0\n"


def test_version_two_limits_are_one_group(tmp_path):
    (tmp_path / "cgroup.controllers").write_text("cpu io memory\n")
    limits = ControlGroups("abc", tmp_path)
    (group,) = limits.make("server-1", 0.5, 1 << 28)
    assert group == tmp_path / "dfslab-abc/server-1"
    assert (group / "cpu.max").read_text() == "50000 100000\n"
    assert (group / "memory.max").read_text() == f"{1 << 28}\n"
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu +memory +io\n"
    limits.disk("server-1", "7:3", {"write_bytes_per_s": 6e7, "read_per_s": 50})
    assert (group / "io.max").read_text() == "7:3 rbps=max wbps=60000000 riops=50 wiops=max\n"
    assert limits.folders() == [tmp_path / "dfslab-abc"]


@pytest.mark.parametrize("netem", [True, False])
def test_a_link_s_commands(host, monkeypatch, netem):
    monkeypatch.setattr(kernel, "has", lambda name: netem)
    link = EmulatedLink(rate_bytes_per_s=1.25e8, delay_s=2e-3, jitter_s=1e-4, loss=0.01)
    script = network.host_script(host, link, "reno")
    assert "tbf rate 1000000000bit" in script
    assert "congctl lock reno" in script
    assert ("parent 1:1 netem" in script) == netem
    assert ("delay 2000us 100us distribution normal loss 1%" in script) == netem
    assert ("NFQUEUE" in script) != netem
    words = network.delay_line([host], [link], seed=3)
    assert (words is None) == netem


def test_what_is_not_limited_and_not_delayed_is_left_alone(host):
    script = network.host_script(host, EmulatedLink(), "cubic")
    assert "tbf" not in script
    assert "NFQUEUE" not in script
    assert network.delay_line([host], [EmulatedLink()], seed=1) is None


def test_the_usual_deployment_has_a_kind_of_role_on_hosts_of_its_own():
    system = discover.file_system("moosefs")
    made = standard(system, 4, 2, rate("--link", "1Gbit"), delay("--delay", "0.5ms"))
    assert [name for name, _ in made.nodes()] == [
        "master",
        "server-1",
        "server-2",
        "server-3",
        "server-4",
        "client-1",
        "client-2",
    ]
    link = link_of(made.node[1], made)
    assert (link.rate_bytes_per_s, link.delay_s) == (1.25e8, 5e-4)
    assert disk_limits(made.node[1]) == {}
    assert math.isinf(rate("--disk", ""))


def test_declared_hardware_that_cannot_be_emulated_is_reported(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    node = {"roles": {"brick": 1}, "memory": "1 GiB"}
    made = Deployment.model_validate(
        {"node": [{"name": "large", "cores": 8, **node}, {"name": "small", "cores": 1, **node}]}
    )
    monkeypatch.setattr(kernel, "features", lambda: ())
    shared = "large declares 8 cores; it shares the 2 of this machine"
    assert not_made(made) == [shared]
    monkeypatch.setattr(
        kernel,
        "features",
        lambda: (
            kernel.Feature("memory limits", False, "the page cache's size"),
            kernel.Feature("cpu limits", False, "fewer cores"),
        ),
    )
    assert not_made(made) == [
        "memory limits: not on this machine; disables the page cache's size",
        "cpu limits: not on this machine; disables fewer cores",
        shared,
    ]


@pytest.mark.parametrize(
    ("user_id", "reason"),
    [
        (0, "not on this machine"),
        (1000, "not available to this user; run the command again as root, for example with sudo"),
    ],
)
def test_a_missing_feature_is_explained_to_root_and_to_other_users(monkeypatch, user_id, reason):
    missing = kernel.Feature("namespaces", False, "hosts")
    monkeypatch.setattr(kernel, "features", lambda: (missing,))
    monkeypatch.setattr(os, "geteuid", lambda: user_id)
    assert kernel.lacks("namespaces") == [f"namespaces: {reason}; disables hosts"]


@pytest.mark.parametrize("text", ["fast", "1", "-1Gbit", "1 s"])
def test_a_wrong_rate_is_one_line(text):
    with pytest.raises(InputError, match="^--link = "):
        rate("--link", text)


def test_a_testbed_gets_the_parameters_of_its_description():
    described = parsed("glusterfs", {"copies": 2, "bricks": 4, "quick_read": 0}, {"profile": True})
    assert (described["copies"], described["quick_read"], described["profile"]) == (2.0, 0.0, True)
    with pytest.raises(InputError, match=r"bed\.copy = 2: unknown.*did you mean copies"):
        parsed("glusterfs", {"copy": 2}, {})
    with pytest.raises(InputError, match="profile = 'maybe': must be true or false"):
        parsed("glusterfs", {"profile": "maybe"}, {"profile": True})
    three = Deployment.model_validate(
        {
            "node": [
                {"name": "server", "count": 3, "roles": {"brick": 1}},
                {"name": "client", "roles": {"client": 1}},
            ]
        }
    )
    with pytest.raises(InputError, match=r"bed\.copies = 2.0: must be a divisor of the 3 bricks"):
        check_layout("glusterfs", described, three)


def test_a_check_holds_within_what_is_allowed():
    assert Check("a", "link rate", 100.0, 104.9, 5.0).holds
    assert not Check("a", "link rate", 100.0, 94.0, 5.0).holds
    assert Check("a", "round trip", None, 3.0, 0.0).holds


def test_a_failed_check_has_units_and_names_other_work_on_the_machine():
    rate = Check("a", "link rate", 1.25e8, 1.674e7, 6.25e6)
    assert rate.difference() == "declared 125 MB/s, measured 16.74 MB/s, may differ by 6.25 MB/s"
    assert "declared 100 us" in Check("a", "round trip", 1e-4, 1e-2, 3e-4).difference()
    assert "busy (5.5 tasks for each processor): wait" in busy_words(5.5)
    assert not busy_words(0.2)


def test_this_kernel_s_features_are_tried():
    found = {feature.name: feature for feature in kernel.features()}
    assert found["tbf"].disables == "link rates"
    assert all(isinstance(feature.present, bool) for feature in found.values())
