"""Tests that `dfslab calibrate SCENARIO` measures, on the hosts of a real testbed, the limits that
the scenario declares."""

from __future__ import annotations

import json

import pytest
from dfslab.cli.root import app
from dfslab.instruments.calibration import calibrate_testbed as calibrate_testbed
from dfslab.spec.scenario import read
from typer.testing import CliRunner

pytestmark = pytest.mark.testbed

NODE = """
[[deployment.node]]
name = "{name}"
cores = 1
memory = "1 GiB"
roles = {{ {role} = 1 }}
"""
LIMITS = """
[deployment.node.disk]
read_rate = "20 MB/s"
write_rate = "30 MB/s"
[deployment.node.adapter]
bandwidth = "80 Mbit/s"
"""
REST = """
[file_system]
name = "glusterfs"
copies = 1
[file_system.access]
testbed = {testbed}
[workload]
name = "sequential_read"
file_size = "1 MiB"
operations_per_client = 2
cache = "cold"
[run]
methods = ["sequence"]
repetitions = 1
"""


def scenario(limits: str, network: str, testbed: str, head: str = "") -> str:
    """Returns the text of a GlusterFS scenario with one brick and one client. `limits` is the TOML
    text of the hardware limits of both nodes. If `limits` is empty, the limits come from a hardware
    profile. `head` is the first section of the scenario, which names this profile."""
    nodes = [NODE.format(name=name, role=name) + limits for name in ("brick", "client")]
    return (
        'schema = 1\nname = "calibrated"\n'
        + head
        + "".join(nodes)
        + network
        + REST.format(testbed=testbed)
    )


def test_a_testbeds_hosts_are_measured_and_the_profile_predicts(tmp_path, monkeypatch):
    monkeypatch.setenv("DFSLAB_STATE", str(tmp_path / "state"))
    for name, seconds in (("DISK_S", 0.6), ("DISK_SKIP_S", 0.3), ("STREAM_S", 0.4)):
        monkeypatch.setattr(calibrate_testbed.hardware, name, seconds)
    given, profile = tmp_path / "given.toml", tmp_path / "profile.toml"
    # With a tolerance of 1, a testbed starts on any hardware. Other tests check how closely
    # testbeds keep declared limits.
    loose = "[deployment]\ntolerance = 1\n"
    given.write_text(scenario(LIMITS, "", "true", loose))
    said = CliRunner().invoke(
        app, ["calibrate", str(given), "-o", str(profile), "--repeats", "2", "--json"]
    )
    assert said.exit_code == 0, said.output
    groups = json.loads(said.stdout)["groups"]
    assert set(groups) == {"brick", "client"}
    # A rate limit is an upper bound, so the measured rate may be far below it. The measured rate
    # may also exceed the limit slightly: on a busy machine, the begin and the end of a short
    # measurement are uncertain.
    text = scenario("", "", "false", f'[deployment]\nprofile = "{profile.name}"\n')
    named = tmp_path / "named.toml"
    named.write_text(text.replace("testbed = false", f'directory = "{tmp_path}"'))
    deployment = read(named).deployment
    for group in deployment.node:
        assert 20e6 / 10 < group.disk.read_rate < 2 * 20e6
        assert 30e6 / 10 < group.disk.write_rate < 2 * 30e6
        assert 10e6 / 10 < group.adapter.bandwidth < 2 * 10e6
    assert 0 < deployment.network.latency < 0.2
    predicted = CliRunner().invoke(app, ["predict", str(named), "--method", "sequence", "--json"])
    assert predicted.exit_code == 0, predicted.output
    (result,) = json.loads(predicted.stdout)
    rate = result["metrics"]["throughput_bytes_per_s"]["value"]
    slowest = min(group.adapter.bandwidth for group in deployment.node)
    assert 0 < rate < 1.1 * slowest
