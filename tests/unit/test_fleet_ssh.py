"""Tests of a workload on workers that are reached by SSH. The results equal those of a run in one
process, and nothing remains on the workers."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dfslab.fleet import run
from dfslab.fleet.client_hosts import HERE, ClusterKind
from dfslab.instruments import access
from dfslab.instruments.measure import Measure
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from support.clusters import plan
from support.command import dfslab
from support.scenarios import requested
from support.ssh_host import USER, SshHost
from support.synthetic import without_times
from support.waiting import wait_until

pytestmark = pytest.mark.heavy

DFSLAB = (sys.executable, "-P", "-c", "from dfslab.cli import main; main()")


@pytest.fixture
def host(tmp_path_factory, monkeypatch):
    """Provides an SSH host whose workers have their state and temporary files in one folder."""
    folder = tmp_path_factory.mktemp("host")
    for name in ("state", "tmp", "home"):
        (folder / name).mkdir()
    monkeypatch.setenv("DFSLAB_STATE", str(folder / "state"))
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    # The test must use neither the SSH keys nor the settings of the user who runs it.
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with SshHost(folder) as host:
        yield host
        assert wait_until(lambda: host.alive() == []), host.alive()


def command_line(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DFSLAB, *words], cwd=folder, capture_output=True, text=True, timeout=300
    )


def of_cluster(cluster: dict[str, Any], **workload):
    return requested({"fleet": "ssh", "cluster": cluster}, **workload)


def test_nodes_over_ssh_do_what_one_process_does(tmp_path, host):
    wanted = plan(tmp_path, record=True, verify="inline", spans={"limit": 10_000})
    alone, spans_alone, recorded_alone = run.run_load(wanted, (HERE,))
    with access.session() as session:
        nodes = session.client_hosts(of_cluster(host.cluster()).scenario)
        assert (nodes.wanted, nodes.expected) == (0, 2), "all that are listed are waited for"
        both, spans, recorded = run.run_load(wanted, nodes)
        assert len([line for line in host.alive() if "dask_spec" in line]) >= 3
    assert both.complete
    assert without_times(recorded) == without_times(recorded_alone)
    assert [(c.client, c.count, c.bytes) for c in both.per_client] == [
        (c.client, c.count, c.bytes) for c in alone.per_client
    ]
    assert both.verified_bytes == alone.verified_bytes
    assert sorted(spans.name) == sorted(spans_alone.name)
    assert [(p.clients_from, p.clients_to) for p in both.places] == [(0, 3), (3, 5)]
    started = [line for line in host.commands if "dask_spec" in line]
    assert sum('"distributed.Scheduler"' in line for line in started) == 1
    assert sum('"distributed.Nanny"' in line for line in started) == 2
    assert wait_until(lambda: host.alive() == []), host.alive()
    assert host.left() == list(tmp_path.iterdir()) == []


def test_a_scenario_file_is_measured_over_ssh(tmp_path, host):
    """A scenario file is measured over SSH in a separate process, which ends without error
    messages."""
    scenario = host.scenario()
    cluster = read(scenario).run.cluster
    assert ClusterKind("ssh", cluster).nodes(0) == 2
    assert read(scenario).with_overrides({"run.seed": 2}).run.cluster == cluster
    done = command_line("measure", str(scenario), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr
    assert wait_until(lambda: host.alive() == []), host.alive()
    assert host.left() == []


def test_a_refused_key_is_one_clear_line(tmp_path, host):
    denied = f"PermissionDenied: Permission denied for user {USER} on host 127.0.0.1"
    with access.session() as session, pytest.raises(InputError) as caught:
        session.client_hosts(of_cluster(host.cluster(key=host.other_key)).scenario)
    assert str(caught.value) == f"run.fleet = 'ssh': SSHCluster cannot be started: {denied}"
    assert host.commands == []
    # The error on the terminal is a single line. The exit code says that the input is wrong.
    done = dfslab("measure", host.scenario(host.other_key), cwd=tmp_path)
    assert done.returncode == 2
    assert denied in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize("deaf", [False, True])
def test_a_key_that_one_node_refuses_ends_the_others(host, deaf):
    """If one worker refuses the key, the scheduler and the other worker are ended.

    If `deaf` is true, no signal reaches the other worker. This worker then ends itself after its
    time limit.
    """
    host.deaf = deaf
    keys = (host.client_key, host.client_key, host.other_key)
    cluster = {**host.cluster(), "connect_options": [host.options(key) for key in keys]}
    cluster["worker_options"] = {"host": "127.0.0.1", "death_timeout": 5 if deaf else None}
    with access.session() as session, pytest.raises(InputError, match="'ssh': .*PermissionDenied"):
        session.client_hosts(of_cluster(cluster).scenario)
    assert host.requested("distributed.Scheduler")
    assert wait_until(lambda: host.alive() == []), host.alive()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"remote_python": "/no/python"}, "SSHCluster cannot be started: .*failed to start"),
        ({"hosts": ["127.0.0.1"]}, "run.cluster.hosts = .*: must list the host of the scheduler"),
        ({"hosts": "127.0.0.1"}, "run.cluster.hosts = '127.0.0.1': must list"),
        ({"no_such_option": 1}, "SSHCluster cannot be started: TypeError: .*no_such_option"),
    ],
)
def test_what_is_wrong_with_a_cluster_is_one_line(host, change, said):
    cluster = {**host.cluster(), **change}
    with access.session() as session, pytest.raises(InputError, match=said) as caught:
        session.client_hosts(of_cluster(cluster).scenario)
    assert "\n" not in str(caught.value)


def test_nodes_are_as_many_as_hosts_are_listed(host):
    with access.session() as session:
        allowed = "workload.nodes = 3: run.cluster.hosts lists 2 after that of the scheduler"
        with pytest.raises(InputError, match=allowed):
            session.client_hosts(of_cluster(host.cluster(), nodes=3).scenario)
        result = Measure().run(of_cluster(host.cluster(), nodes=1), session)
    assert result.complete
    assert len(result.load.places) == 1
    assert ClusterKind("ssh", {**host.cluster(), "worker_options": {"n_workers": 3}}).nodes(0) == 6


def test_an_interruption_leaves_nothing_even_where_no_signal_is_sent(tmp_path, host):
    host.deaf = True
    wanted = plan(tmp_path, 2, 100_000, think_time_s=0.01)

    def interrupt(share: float, phase: str) -> None:
        if phase == "running" and share > 0:
            raise KeyboardInterrupt

    def interrupted() -> None:
        with access.session() as session:
            nodes = session.client_hosts(of_cluster(host.cluster(nodes=1)).scenario)
            run.run_load(wanted, nodes, interrupt)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert wait_until(lambda: host.alive() == []), host.alive()
    assert host.left() == list(tmp_path.iterdir()) == []


def test_an_interruption_while_the_cluster_starts_leaves_no_process(tmp_path, host):
    command = [*DFSLAB, "measure", str(host.scenario())]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert wait_until(lambda: host.requested("distributed.Scheduler"), timeout_s=120)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert wait_until(lambda: host.alive() == []), host.alive()
