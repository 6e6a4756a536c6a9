"""Tests of a workload on workers that are reached by SSH. Its results equal those of a run in one
process, and nothing remains on the workers."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncssh
import psutil
import pytest
from dfslab.fleet import run
from dfslab.fleet.places import HERE, ClusterKind
from dfslab.instruments import access
from dfslab.instruments.measure import Measure
from dfslab.spec.model import InputError
from dfslab.spec.scenario import read
from support.clusters import plan
from support.command import dfslab
from support.scenarios import requested
from support.synthetic import without_times
from support.waiting import wait_until

pytestmark = pytest.mark.heavy

MARK = "DFSLAB_TEST_SSH_HOST"
USER = "tester"
DFSLAB = (sys.executable, "-P", "-c", "from dfslab.cli import main; main()")
BLOCK_BYTES = 1 << 16
SCENARIO = """
schema = 1
name = "over-ssh"
file_system.name = "local"
workload = {{ name = "mixture", clients = 2, file_size = "4 KiB", operations_per_client = 5 }}

[[deployment.node]]
roles = {{ client = 1, storage = 1 }}

[run]
methods = ["measure"]
repetitions = 1
fleet = "ssh"

[run.cluster]
hosts = ["127.0.0.1", "127.0.0.1", "127.0.0.1"]
scheduler_options = {{ host = "127.0.0.1" }}
worker_options = {{ host = "127.0.0.1", nthreads = 1 }}

[run.cluster.connect_options]
port = {port}
username = "{username}"
client_keys = {client_keys}
known_hosts = "{known_hosts}"
"""


class SshHost:
    """An SSH server on the loopback address that runs requested commands as sshd does.

    Each command runs in a shell in a new session, receives the signals that its client sends, and
    outlives a closed connection. If `deaf` is true, the signals are ignored, as by OpenSSH before
    7.9.
    """

    def __init__(self, folder: Path):
        self.folder, self.commands, self.port = folder, [], 0
        self.deaf = False
        self.client_key, self.other_key = folder / "client", folder / "other"
        for path in (self.client_key, self.other_key):
            key = asyncssh.generate_private_key("ssh-ed25519")
            key.write_private_key(path)
            key.write_public_key(path.with_suffix(".pub"))
        self._host_key = asyncssh.generate_private_key("ssh-ed25519")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> SshHost:
        self._thread.start()
        self._server = self._done(self._listen())
        self.port = self._server.get_port()
        public = self._host_key.export_public_key().decode()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {public}")
        return self

    def __exit__(self, *_: object) -> None:
        for process, _line in self._processes():
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                process.kill()
        self._done(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _done(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(300)

    async def _listen(self) -> Any:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[self._host_key],
            encoding=None,
            authorized_client_keys=str(self.client_key.with_suffix(".pub")),
            process_factory=self._serve,
        )

    async def _shut(self) -> None:
        self._server.close()
        await self._server.wait_closed()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)

    async def _serve(self, channel: Any) -> None:
        self.commands.append(channel.command)
        child = await asyncio.create_subprocess_shell(
            channel.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, MARK: str(self.folder)},
            start_new_session=True,
        )
        obeying = asyncio.create_task(self._obey(channel, child))
        await asyncio.gather(
            self._pass_on(child.stdout, channel.stdout), self._pass_on(child.stderr, channel.stderr)
        )
        status = await child.wait()
        obeying.cancel()
        with suppress(OSError):
            channel.exit(status) if status >= 0 else channel.exit_with_signal("KILL")

    @staticmethod
    async def _pass_on(source: asyncio.StreamReader, target: Any) -> None:
        while block := await source.read(BLOCK_BYTES):
            with suppress(OSError):
                target.write(block)

    async def _obey(self, channel: Any, child: asyncio.subprocess.Process) -> None:
        """Sends the client's signals to the whole process group of a command, as sshd does."""
        with suppress(asyncssh.Error, OSError):
            while True:
                try:
                    if not await channel.stdin.read(BLOCK_BYTES):
                        return
                except asyncssh.SignalReceived as reported:
                    with suppress(ProcessLookupError):
                        self.deaf or os.killpg(child.pid, getattr(signal, f"SIG{reported.signal}"))

    def cluster(self, nodes: int = 2, key: Path | None = None) -> dict[str, Any]:
        """Returns the keys with which a scenario names a cluster of workers on this host. `key` is
        the client's private key."""
        return {
            "hosts": ["127.0.0.1"] * (1 + nodes),
            "connect_options": self.options(key),
            "scheduler_options": {"host": "127.0.0.1"},
            "worker_options": {"host": "127.0.0.1"},
        }

    def options(self, key: Path | None = None) -> dict[str, Any]:
        return {
            "port": self.port,
            "username": USER,
            "client_keys": [str(key or self.client_key)],
            "known_hosts": str(self.folder / "known_hosts"),
        }

    def scenario(self, key: Path | None = None) -> Path:
        """Writes a scenario file that uses a cluster on this host, and returns the file's path."""
        path = self.folder / "over-ssh.toml"
        path.write_text(SCENARIO.format(**self.options(key)))
        return path

    def requested(self, word: str) -> bool:
        """Returns whether any requested command contained this word."""
        return any(word in command for command in self.commands)

    def alive(self) -> list[str]:
        """Returns the live processes that any command has started."""
        return [line for _, line in self._processes()]

    def _processes(self) -> list[tuple[psutil.Process, str]]:
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
                if process.environ().get(MARK) == str(self.folder):
                    found.append((process, " ".join(process.cmdline())))
        return found

    def left(self) -> list[Path]:
        """Returns the files that workers have left in their folders for temporary files and
        state."""
        return [
            path
            for path in self.folder.rglob("*")
            if path.name.startswith(("worker-", "clients-", "dfslab-"))
        ]


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
        nodes = session.places(of_cluster(host.cluster()).scenario)
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
        session.places(of_cluster(host.cluster(key=host.other_key)).scenario)
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

    If no signal reaches the other worker, it ends itself after its time limit.
    """
    host.deaf = deaf
    keys = (host.client_key, host.client_key, host.other_key)
    cluster = {**host.cluster(), "connect_options": [host.options(key) for key in keys]}
    cluster["worker_options"] = {"host": "127.0.0.1", "death_timeout": 5 if deaf else None}
    with access.session() as session, pytest.raises(InputError, match="'ssh': .*PermissionDenied"):
        session.places(of_cluster(cluster).scenario)
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
        session.places(of_cluster(cluster).scenario)
    assert "\n" not in str(caught.value)


def test_nodes_are_as_many_as_hosts_are_listed(host):
    with access.session() as session:
        allowed = "workload.nodes = 3: run.cluster.hosts lists 2 after that of the scheduler"
        with pytest.raises(InputError, match=allowed):
            session.places(of_cluster(host.cluster(), nodes=3).scenario)
        result = Measure(session).run(of_cluster(host.cluster(), nodes=1))
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
            nodes = session.places(of_cluster(host.cluster(nodes=1)).scenario)
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
