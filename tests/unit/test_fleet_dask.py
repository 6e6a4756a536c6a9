"""Tests of a workload at the nodes of a Dask cluster. The results equal those of a run in one
process, and lost nodes are reported."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from dfslab import _core
from dfslab.fleet import dask, run, shards, worker_calls, workers
from dfslab.fleet.client_hosts import HERE, ClientHost, ClusterKind, Nodes
from dfslab.fleet.each_host import reached
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.vocabulary import Neighbour, Stream
from dfslab.spec.streams.workload import phase
from support.clusters import apart_s, command_lines, plan
from support.rows import span_rows
from support.synthetic import without_times
from support.waiting import wait_until

pytestmark = pytest.mark.heavy
NODES = (ClientHost("node-2"), ClientHost("node-10"))

ALONE = """
import sys
from dfslab.fleet.client_hosts import Nodes
from dfslab.fleet.run import run_load
from dfslab.spec.streams.plan import LoadPlan
said = lambda share, phase: print(phase, share > 0, flush=True)
run_load(LoadPlan.model_validate_json(sys.argv[1]), Nodes(sys.argv[2], 2), said)
"""


@contextmanager
def joined() -> Iterator[str]:
    """Returns a context with a new cluster whose workers have joined the scheduler."""
    with workers.started(NODES) as address:
        with reached(address) as client:
            client.wait_for_workers(len(NODES), timeout=300)
        yield address


@pytest.fixture(scope="module")
def cluster(module_state):
    """Provides the address of a Dask cluster of two nodes. All tests that leave the cluster
    unchanged share it."""
    with joined() as address:
        yield address


@pytest.fixture
def doomed_cluster(state_folder):
    """Provides the address of a Dask cluster for one test, which may end processes of the cluster.
    The test has a separate state folder."""
    with joined() as address:
        yield address


def left() -> list[Path]:
    """Returns the files that agents left in the state folder."""
    parts = Path(os.environ["DFSLAB_STATE"]) / "parts"
    return [path for path in parts.rglob("*") if path.is_file()]


def process_of(word: str) -> psutil.Process:
    """Returns the newest child process of this test whose command line has the word."""
    children = command_lines(os.getpid(), recursive=True)
    return [child for child, line in children if word in " ".join(line)][-1]


def agents() -> list[psutil.Process]:
    mine = str(os.environ["DFSLAB_STATE"])
    return [
        p
        for p in psutil.process_iter(["cmdline"])
        if any(word.startswith(mine) for word in p.info["cmdline"] or ())
    ]


def slow(root: Path, operations: int = 300, **top) -> LoadPlan:
    return plan(root, 4, operations, think_time_s=0.01, **top)


class Once:
    """A progress callback that calls `work` once, when a thousandth of the workload has been
    executed."""

    def __init__(self, work):
        self._work, self.done = work, False

    def __call__(self, share: float, phase: str) -> None:
        if phase == "running" and share > 0.001 and not self.done:
            self.done = True
            self._work()


def test_nodes_do_what_one_process_does(tmp_path, cluster):
    wanted = plan(
        tmp_path, record=True, verify="inline", spans={"limit": 10_000}, think_time_s=0.01
    )
    alone, spans_alone, recorded_alone = run.run_load(wanted, (HERE,))
    both, spans, recorded = run.run_load(wanted, Nodes(cluster, 2))
    assert both.complete
    assert without_times(recorded) == without_times(recorded_alone)
    assert [(c.client, c.count, c.bytes) for c in both.per_client] == [
        (c.client, c.count, c.bytes) for c in alone.per_client
    ]
    assert both.verified_bytes == alone.verified_bytes
    assert sorted(spans.name) == sorted(spans_alone.name)
    # Names are sorted by the numbers in them: node-2 comes before node-10.
    assert [(p.name, p.clients_from, p.clients_to) for p in both.places] == [
        ("node-2", 0, 3),
        ("node-10", 3, 5),
    ]
    assert apart_s(span_rows(spans), ((0, 1, 2), (3, 4))) < both.late_s
    for place in both.places:
        # Both nodes are on one machine and share its clock, so the estimated offset is zero within
        # its error.
        assert abs(place.clock_offset_s) <= place.clock_error_s + 1e-3
        assert 0 < place.clock_error_s < dask.CALL_LIMIT_S
        assert abs(place.clock_drift_s) < 2 * dask.CALL_LIMIT_S
    assert list(tmp_path.iterdir()) == left() == []


def test_nodes_wait_for_each_other_where_they_take_others_files(tmp_path, cluster):
    """If clients read files of clients on other nodes, the nodes wait for each other. No node
    removes files that another node still reads. No node waits for ever."""
    phases = [phase("write", 4, "write"), phase("read", 4, "read", files=Neighbour(neighbour=1))]
    whole = plan(tmp_path, 4, 4)
    stream = Stream(
        seed=7, clients=4, phases=phases, file_size=whole.stream.file_size, transfer_size_bytes=4096
    )
    for held in (False, True):
        wanted = whole.model_copy(update={"stream": stream, "barrier_after_phases": held})
        report, *_ = run.run_load(wanted, Nodes(cluster, 2))
        assert report.complete, report.errors
        assert [phase.count for phase in report.phases] == [16, 16]
    assert list(tmp_path.iterdir()) == []


def test_a_node_may_have_several_processes(tmp_path, cluster):
    wanted = plan(tmp_path, 6, record=True)
    report, _, recorded = run.run_load(wanted, Nodes(cluster, 1, 3, expected=2))
    assert [place.name for place in report.places] == [
        f"node-2, process {number}" for number in (1, 2, 3)
    ]
    assert without_times(recorded) == without_times(run.run_load(wanted, (HERE,))[2])


def test_a_start_in_unix_time_counts_the_offset(tmp_path, cluster, monkeypatch):
    """The start time is sent to the nodes in Unix time. Each node corrects it by the measured
    offset of the node's clock. All nodes therefore start at the same moment."""
    measure = dask.Controller.measure_clock

    async def measured(self, part, *limit_s):
        await measure(self, part, *limit_s)
        part.clock = dask.ClockOffset(**{**vars(part.clock), "one_monotonic": False})

    monkeypatch.setattr(dask.Controller, "measure_clock", measured)
    wanted = plan(tmp_path, spans={"limit": 1000}, think_time_s=0.01)
    report, spans, _ = run.run_load(wanted, Nodes(cluster, 2))
    assert report.complete
    assert apart_s(span_rows(spans), ((0, 1, 2), (3, 4))) < report.late_s


def test_a_killed_agent_loses_only_its_part(tmp_path, cluster):
    wanted = slow(tmp_path, record=True)
    kill = Once(lambda: agents()[-1].kill())
    report, _, recorded = run.run_load(wanted, Nodes(cluster, 2), kill)
    assert kill.done
    assert not report.complete
    lost = [place for place in report.places if place.lost]
    assert len(lost) == 1
    assert "SIGKILL" in lost[0].lost
    assert "are missing" in lost[0].lost
    kept = [c for c in range(4) if c not in range(lost[0].clients_from, lost[0].clients_to)]
    assert [(c.client, c.count) for c in report.per_client] == [(c, 300) for c in kept]
    stream = wanted.stream.text
    assert without_times(recorded) == b"".join(
        _core.stream_bytes(stream, client) for client in kept
    )
    assert left() == []


@pytest.mark.parametrize("victim", ["dask_scheduler", "dask_worker"])
def test_a_killed_scheduler_or_worker_takes_no_result_with_it(tmp_path, doomed_cluster, victim):
    kill = Once(lambda: process_of(victim).kill())
    wanted = slow(tmp_path, record=True)
    report, _, recorded = run.run_load(wanted, Nodes(doomed_cluster, 2), kill)
    assert kill.done
    assert report.complete, report.errors
    assert [client.count for client in report.per_client] == [300] * 4
    assert without_times(recorded) == without_times(run.run_load(wanted, (HERE,))[2])
    assert bool(report.fleet.notes) == (victim == "dask_scheduler")
    assert left() == []
    assert list(tmp_path.iterdir()) == []


def test_results_stay_on_disk_when_all_but_the_agents_is_killed(tmp_path, doomed_cluster):
    wanted = slow(tmp_path)
    command = [sys.executable, "-c", ALONE, wanted.text, doomed_cluster]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as controller:
        assert any(line.strip() == "running True" for line in controller.stdout)
        process_of("dask_scheduler").kill()
        controller.kill()
    assert wait_until(lambda: len([p for p in left() if p.suffix == ".json"]) == 2)
    assert wait_until(lambda: agents() == [])
    parts = sorted(path for path in left() if path.suffix == ".json")
    merged, _, _ = shards.of_parts([worker_calls.left_behind(path) for path in parts])
    assert merged.complete
    assert [client.count for client in merged.per_client] == [300] * 4
    alone, _, _ = shards.of_parts([worker_calls.left_behind(parts[1])])
    assert not alone.complete
    assert "clients 0 to 1 are missing" in alone.errors[-1].first
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_is_slow_to_start_is_waited_for(tmp_path, cluster, monkeypatch):
    """The first call to a worker takes long on a busy machine. Here, the worker is paused."""
    said: list[str] = []
    monkeypatch.setattr(dask, "CALL_LIMIT_S", 0.5)
    worker = process_of("node-10")
    worker.suspend()
    threading.Timer(3.0, worker.resume).start()
    report, *_ = run.run_load(
        plan(tmp_path), Nodes(cluster, 2), lambda share, text: said.append(text)
    )
    assert report.complete, report.errors
    waiting = [text for text in said if text.startswith("waiting")]
    assert re.fullmatch(r"waiting \d+ s for answers of node-10", waiting[-1])
    assert left() == []


def test_a_worker_that_never_answers_is_named_with_the_limit(tmp_path, cluster, monkeypatch):
    monkeypatch.setattr(dask, "SET_UP_LIMIT_S", 1.0)
    worker = process_of("node-10")
    worker.suspend()
    try:
        with pytest.raises(shards.LoadFailed) as caught:
            run.run_load(plan(tmp_path), Nodes(cluster, 2))
    finally:
        worker.resume()
    assert re.fullmatch(
        r"node-10: its Dask worker tcp://127\.0\.0\.1:\d+: no answer to the call 'clock' "
        r"within 1 s; see the load of its host and its log, then run again",
        str(caught.value),
    )
    assert list(tmp_path.iterdir()) == left() == []


def test_a_worker_that_leaves_before_the_workload_is_not_waited_for(
    tmp_path, doomed_cluster, monkeypatch
):
    monkeypatch.setattr(dask, "CALL_LIMIT_S", 0.5)
    worker = process_of("node-10")
    worker.suspend()
    threading.Timer(2.0, worker.kill).start()
    # The first to notice may be Dask, or the check of the workers that have joined.
    how = "left the cluster|CommClosedError"
    with pytest.raises(shards.LoadFailed, match=f"^node-10: its Dask worker tcp://.*: ({how})"):
        run.run_load(plan(tmp_path), Nodes(doomed_cluster, 2))
    assert list(tmp_path.iterdir()) == left() == []


def test_a_worker_that_is_paused_loses_nothing(tmp_path, cluster):
    """A worker that stops for longer than a call may take is heard again later. Meanwhile the polls
    of the other worker go on, so that the lease of its agent is renewed."""
    worker = process_of("node-10")
    paused = Once(lambda: (worker.suspend(), threading.Timer(9.0, worker.resume).start()))
    wanted = slow(tmp_path, 800)
    report, *_ = run.run_load(wanted, Nodes(cluster, 2, own=True), paused)
    assert paused.done
    assert report.complete, report.errors
    assert [client.count for client in report.per_client] == [800] * 4
    assert left() == agents() == []


def test_an_interruption_stops_all_agents_and_leaves_nothing(tmp_path, cluster):
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.run_load(slow(tmp_path, 100_000), Nodes(cluster, 2), Once(interrupt))
    assert list(tmp_path.iterdir()) == left() == agents() == []


def test_a_signal_reaches_work_in_another_thread(tmp_path, cluster):
    """Ctrl-C ends a workload that does not run in the main thread. Workloads in the network of an
    emulated host run in such a thread."""
    answers: list[BaseException] = []
    running = threading.Event()

    def progress(share, phase):
        if phase == "running" and share > 0:
            running.set()

    def within(work):
        def caught():
            try:
                work()
            except BaseException as error:  # the test checks the error below
                answers.append(error)

        thread = threading.Thread(target=caught, daemon=True)
        thread.start()
        assert running.wait(timeout=300)
        signal.raise_signal(signal.SIGINT)
        thread.join()

    with pytest.raises(KeyboardInterrupt):
        run.run_load(slow(tmp_path, 100_000), Nodes(cluster, 2, within=within), progress)
    assert wait_until(lambda: bool(answers))
    assert isinstance(answers[0], KeyboardInterrupt)
    assert list(tmp_path.iterdir()) == left() == agents() == []


def test_what_is_wrong_is_one_line_and_leaves_nothing(tmp_path, cluster, monkeypatch):
    with pytest.raises(shards.WrongPlan, match=r"node-2: target.root|node-10: target.root"):
        run.run_load(plan(tmp_path / "missing"), Nodes(cluster, 2))
    with monkeypatch.context() as hurried:
        hurried.setattr(dask, "CONNECT_LIMIT_S", 0.5)
        with pytest.raises(
            shards.LoadFailed, match="no Dask scheduler answers at tcp://127.0.0.1:9"
        ):
            run.run_load(plan(tmp_path), Nodes("tcp://127.0.0.1:9"))
    monkeypatch.setattr(dask, "JOIN_LIMIT_S", 0.5)
    with pytest.raises(shards.LoadFailed, match="2 of 3 nodes joined"):
        run.run_load(plan(tmp_path), Nodes(cluster, 3))
    with (
        pytest.raises(workers.ClusterFailed, match="the Dask scheduler did not start"),
        workers.started([ClientHost("here")], "203.0.113.7"),
    ):
        pass
    assert list(tmp_path.iterdir()) == left() == []


def test_clusters_of_other_kinds_are_requested_from_their_libraries(tmp_path, monkeypatch):
    """Each kind of cluster is started by a class of another library. For each kind, the class gets
    the options of the scenario unchanged. The cluster is scaled to the number of nodes, and it is
    always closed."""
    reported: list[object] = []

    class Made:
        scheduler_address = "tcp://made:1"

        def __init__(self, **options):
            reported.append(options)

        def scale(self, nodes):
            reported.append(nodes)

        def close(self):
            reported.append("closed")

    fake = SimpleNamespace(SLURMCluster=Made)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", fake)
    with workers.cluster(ClusterKind("slurm", {"queue": "short"}), 3) as address:
        assert address == "tcp://made:1"
    assert reported == [{"queue": "short"}, 3, "closed"]
    monkeypatch.setitem(sys.modules, "asyncssh", None)
    for kind, package in (("yarn", "dask-yarn"), ("ssh", "asyncssh")):
        with (
            pytest.raises(
                shards.LoadFailed, match=f"{kind} cluster needs the Python package {package}"
            ),
            workers.cluster(ClusterKind(kind, {"hosts": ["127.0.0.1"]}), 2),
        ):
            pass
