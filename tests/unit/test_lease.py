"""Tests of leases. A process that a controller has started ends by itself if the controller has
given no sign of life for too long."""

import os
import shlex
import socket
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from dfslab.fleet import lease, workers
from dfslab.fleet.client_hosts import ClusterKind
from dfslab.fleet.lease import NO_CLIENT, Lease, close_without_clients, watched
from dfslab.method import RunFailed
from support.clock import ManualClock
from support.waiting import wait_until

# Time limit in seconds. The limit only ends a test that hangs.
HANGS_S = 300


def test_a_lease_is_over_when_it_was_not_renewed_in_time():
    clock = ManualClock()
    held = Lease(5.0, clock)
    clock.advance(5.0)
    assert not held.is_over()
    held.renew()
    clock.advance(5.0)
    assert not held.is_over()
    clock.advance(0.1)
    assert held.is_over()


def test_the_end_of_a_lease_is_acted_on_once():
    clock, ended = ManualClock(), []
    held, over, called = Lease(5.0, clock), threading.Event(), threading.Event()
    clock.advance(6.0)
    watched(held, lambda: (ended.append(1), called.set()), over)
    assert called.wait(HANGS_S)
    over.set()
    assert ended == [1]


def test_a_process_that_was_paused_does_not_end_its_lease():
    """A worker that got no processor for longer than a lease has not read the signs of life that
    its controller has sent in that time."""
    leased, watching, ended, over = ManualClock(), ManualClock(), [], threading.Event()
    pausing = SimpleNamespace(monotonic_s=lambda: watching.advance(10.0) or watching.now_s)
    held = Lease(5.0, leased)
    leased.advance(6.0)
    watched(held, lambda: ended.append(1), over, clock=pausing)
    assert wait_until(lambda: not held.is_over(), HANGS_S)
    over.set()
    assert ended == []


def test_nothing_ends_where_the_work_was_over_before_the_lease():
    clock, ended, over = ManualClock(), [], threading.Event()
    over.set()
    clock.advance(600.0)
    watched(Lease(5.0, clock), lambda: ended.append(1), over)
    for thread in threading.enumerate():
        if thread.name == "lease":
            thread.join(HANGS_S)
    assert ended == []


def test_a_scheduler_closes_after_its_last_client_has_gone(monkeypatch):
    reasons, closed, clock = [], threading.Event(), ManualClock()

    def callback(close, reason: str) -> None:
        reasons.append(reason)
        closed.set()

    clients = {NO_CLIENT: 1, "controller": 2}
    scheduler = SimpleNamespace(
        clients=clients, close=None, loop=SimpleNamespace(add_callback=callback)
    )
    held = Lease(5.0, clock)
    monkeypatch.setattr(lease, "Lease", lambda: held)
    close_without_clients(scheduler)
    clock.advance(600.0)
    assert wait_until(lambda: not held.is_over(), HANGS_S), "a connected client renews the lease"
    assert reasons == []
    del clients["controller"]
    # The thread may renew the lease once after the client has gone, so the clock is advanced
    # repeatedly.
    assert wait_until(lambda: clock.advance(6.0) or closed.is_set(), HANGS_S)
    assert reasons == ["the controller is gone"]


# The source of a module that starts a child process, prints the child's PID and then sleeps. The
# import of the module therefore does not end during the test. The child inherits the standard input
# of the importing process.
IMPORTING = """
import subprocess
import time

child = subprocess.Popen(["sleep", "300"])
print(child.pid, flush=True)
time.sleep(300)
"""


def started(folder: Path, module: str, stdin: int) -> subprocess.Popen:
    """Starts a module in `folder`, in the way in which the SSH server starts a process of a
    cluster."""
    return subprocess.Popen(
        f"{lease.connected_python()} -m {module} one 'two words'",
        shell=True,
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        text=True,
    )


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


def test_a_process_that_is_importing_ends_with_its_connection(tmp_path):
    (tmp_path / "importing.py").write_text(IMPORTING)
    with started(tmp_path, "importing", subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(HANGS_S) == 1
        assert wait_until(lambda: not is_alive(child), HANGS_S)


def test_a_process_whose_connection_ended_before_its_start_ends(tmp_path):
    (tmp_path / "importing.py").write_text("import time\ntime.sleep(300)\n")
    reading, writing = os.pipe()
    os.close(writing)
    with started(tmp_path, "importing", reading) as process:
        os.close(reading)
        assert process.wait(HANGS_S) == 1


@pytest.mark.parametrize("stdin", [subprocess.DEVNULL, subprocess.PIPE])
def test_a_connected_process_runs_its_module_with_its_words(stdin, tmp_path):
    (tmp_path / "words.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    with started(tmp_path, "words", stdin) as process:
        assert process.stdout.readline() == "__main__ ['one', 'two words']\n"
        assert process.wait(HANGS_S) == 0


def test_the_interpreter_of_a_remote_host_is_taken_as_it_is_written():
    words = shlex.split(lease.connected_python("env A=1 /opt/bin/python"))
    assert words[:4] == ["env", "A=1", "/opt/bin/python", "-c"]
    compile(words[4], "code", "exec")


class Deaf:
    """A fake Dask cluster whose scheduler does not answer when the cluster is closed."""

    scheduler_address = "tcp://127.0.0.1:1"

    def __init__(self, **options: object) -> None:
        self.interpreter = options.get("remote_python")
        clusters.append(self)

    def sync(self, *_: object, **options: object) -> None:
        raise TimeoutError

    def scale(self, nodes: int) -> None:
        """Does nothing: the fake cluster has no workers."""

    def close(self) -> None:
        raise OSError("Timed out trying to connect")


clusters: list[Deaf] = []


def test_only_an_ssh_cluster_may_be_left_to_its_lease(monkeypatch):
    monkeypatch.setattr(lease, "held", lambda address, limit_s: nullcontext())
    for name in ("ssh", "slurm"):
        monkeypatch.setitem(workers.KINDS, name, (__name__, "Deaf", __name__))
    with workers.cluster(ClusterKind("ssh", {"remote_python": ["one", None]}), 1) as address:
        assert address == Deaf.scheduler_address
    first, second = clusters[-1].interpreter
    assert first.startswith("one -c ")
    assert second.startswith(f"{sys.executable} -c ")
    # The error is raised. If it were suppressed, jobs of the batch system would continue unnoticed.
    # For an SSH cluster, the error is suppressed, because the processes of the cluster end with
    # their lease.
    with pytest.raises(OSError, match="Timed out"), workers.cluster(ClusterKind("slurm"), 1):
        pass


def test_a_new_cluster_that_does_not_answer_is_one_line(capfd):
    """A new cluster that does not answer gives a one-line error. The test gives the cluster an
    address whose port is bound. No process listens on the port, so connections are refused."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RunFailed, match="the new cluster does not answer: .*127.0.0.1"):
            lease.held(address, 0.5)
    assert "Traceback" not in capfd.readouterr().err
