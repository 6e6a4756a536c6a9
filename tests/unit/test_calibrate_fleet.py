"""Tests of the calibration of the hosts of a cluster. Every host is measured, and so is the network
between two hosts. Two real Dask workers listen at different loopback addresses and stand for two
hosts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from dfslab.cli.root import app
from dfslab.fleet import each_host, workers
from dfslab.fleet.client_hosts import ClientHost
from dfslab.instruments.calibration import calibrate_fleet
from dfslab.method import RunFailed
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from dfslab.testbeds.hosts import hardware
from typer.testing import CliRunner

pytestmark = pytest.mark.heavy
WORKER = (sys.executable, "-P", "-m", "distributed.cli.dask_worker")
SECOND = "127.0.0.2"


@pytest.fixture(scope="module")
def cluster(module_state, tmp_path_factory):
    """Provides the address of a scheduler with one worker at 127.0.0.1 and one at 127.0.0.2."""
    folder = tmp_path_factory.mktemp("second")
    with workers.started((ClientHost("first"),)) as address:
        words = [*WORKER, address, "--host", SECOND, "--nthreads", "1", "--no-nanny"]
        words += ["--no-dashboard", "--local-directory", str(folder)]
        with (folder / "log").open("wb") as log:
            second = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            with each_host.hosts_of(address, 2) as calls:
                assert [host.address for host in calls.hosts] == ["127.0.0.1", SECOND]
            yield address
        finally:
            second.terminate()
            second.wait(30)


def test_hosts_and_their_network_become_a_profile_that_predicts(cluster, tmp_path):
    steps = []
    found = calibrate_fleet.measure(
        cluster, 2, tmp_path, 2, lambda done, total, text: steps.append((done, total, text))
    )
    assert list(tmp_path.iterdir()) == []
    assert steps == [
        (0, 4, "hardware of 127.0.0.1"),
        (1, 4, f"hardware of {SECOND}"),
        (2, 4, "network of 127.0.0.1"),
        (3, 4, f"network of {SECOND}"),
    ]
    for quantities in found.values():
        by_name = {one.name: one.mean for one in quantities}
        assert by_name["network_rate"] > 1e6
        assert 1e-6 < by_name["network_round_trip"] < 0.5
        assert by_name["disk_read_rate"] > 0
    (tmp_path / "hosts.toml").write_text(calibrate_fleet.toml(found))
    (tmp_path / "scenario.toml").write_text(
        'schema = 1\nname = "measured"\n[deployment]\nprofile = "hosts.toml"\n'
        f'[[deployment.node]]\nname = "{SECOND}"\nroles = {{ brick = 1, client = 1 }}\n'
        '[file_system]\nname = "glusterfs"\ncopies = 1\n[workload]\nname = "sequential_read"\n'
    )
    group = read(tmp_path / "scenario.toml").deployment.node[0]
    measured = {one.name: one.mean for one in found[SECOND]}
    assert group.disk.read_rate == pytest.approx(measured["disk_read_rate"], rel=1e-3)
    assert group.adapter.bandwidth == pytest.approx(measured["network_rate"], rel=1e-3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scheduler", "10.0.0.1"], "must be an address such as tcp://10.0.0.1:8786"),
        (["x.toml", "--scheduler", "tcp://10.0.0.1:1"], "set run.scheduler"),
    ],
)
def test_a_wrong_scheduler_is_one_line(words, said):
    ended = CliRunner().invoke(app, ["calibrate", *words])
    assert isinstance(ended.exception, InputError)
    assert said in str(ended.exception)


def test_a_directory_that_a_host_lacks_is_named(cluster, tmp_path):
    with pytest.raises(InputError, match="is no directory"):
        calibrate_fleet.measure(cluster, 2, tmp_path / "absent", 2)


def test_a_scheduler_that_does_not_answer_is_one_line(monkeypatch):
    monkeypatch.setattr(each_host, "CONNECT_LIMIT_S", 0.5)
    with pytest.raises(RunFailed, match="^Dask at tcp://127.0.0.1:1: "):
        calibrate_fleet.measure("tcp://127.0.0.1:1", 1, Path(), 2)


def test_a_server_that_nobody_calls_ends(monkeypatch):
    monkeypatch.setattr(hardware, "TIMEOUT_S", 0.2)
    port = calibrate_fleet.echo_next("127.0.0.1")
    assert 0 < port < 65536
