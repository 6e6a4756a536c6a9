"""Tests of one workload that several processes run. The tests cover the division of the clients,
the merging of reports, the protocol, and lost agents."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from dfslab import _core
from dfslab.filesystems.hdfs.testbed import Testbed
from dfslab.fleet import agent, run, shards
from dfslab.fleet.client_hosts import HERE, ClientHost, split
from dfslab.instruments import access
from dfslab.instruments.measure import Measure
from dfslab.instruments.trace import Trace
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.target import HdfsTarget
from hypothesis import given
from hypothesis import strategies as some
from support.clock import ManualClock
from support.clusters import TWO, agents_of, apart_s, children_with, plan
from support.rows import span_rows
from support.synthetic import scenario, without_times
from support.waiting import wait_until

OUTSIDE = (ClientHost("outside", ("env",)),)
CONTROLLER = """
import sys
from dfslab.fleet.client_hosts import ClientHost
from dfslab.fleet.run import run_load
from dfslab.spec.streams.plan import LoadPlan
places = [ClientHost("left"), ClientHost("right")]
plan = LoadPlan.model_validate_json(sys.argv[1])
run_load(plan, places, lambda share, phase: print(phase, flush=True))
"""


@given(some.integers(1, 500), some.integers(1, 40))
def test_clients_are_split_evenly_and_in_order(clients, places):
    parts = split(clients, places)
    assert [client for part in parts for client in part] == list(range(clients))
    sizes = [len(part) for part in parts]
    assert len(sizes) == places
    assert max(sizes) - min(sizes) <= 1


def test_two_places_do_what_one_process_does(tmp_path):
    wanted = plan(tmp_path, record=True, verify="inline", spans={"limit": 10_000})
    alone, spans_alone, recorded_alone = run.run_load(wanted, (HERE,))
    reported: list[tuple[float, str]] = []
    both, spans, recorded = run.run_load(wanted, TWO, lambda *what: reported.append(what))
    assert both.complete
    assert both.errors == []
    assert without_times(recorded) == without_times(recorded_alone)
    assert without_times(recorded) == b"".join(
        _core.stream_bytes(wanted.stream.text, client) for client in range(5)
    )
    assert [(c.client, c.count, c.bytes) for c in both.per_client] == [
        (c.client, c.count, c.bytes) for c in alone.per_client
    ]
    assert both.clients == alone.clients == 5
    assert both.verified_bytes == alone.verified_bytes
    assert both.rate_per_s == pytest.approx(300 / both.window_s)
    assert both.window_s == max(c.last_end_s for c in both.per_client)
    assert both.stonewall_s == min(c.last_end_s for c in both.per_client)
    # The stonewall is the moment at which the first client ends. The stonewall rate counts the
    # operations that are completed at this moment: all 60 operations of the first client, and 0 to
    # 240 operations of the other clients.
    assert 59.999 <= both.stonewall_rate_per_s * both.stonewall_s <= 300.001
    assert sorted(spans.name) == sorted(spans_alone.name)
    assert len(set(spans.span_id)) == len(spans)
    assert [(p.clients_from, p.clients_to) for p in both.places] == [(0, 3), (3, 5)]
    assert all(0 <= share <= 1 for share, _ in reported)
    assert reported[0][1] == "preparing"
    assert list(tmp_path.iterdir()) == []


def test_all_places_start_at_one_instant(tmp_path):
    wanted = plan(tmp_path, 4, spans={"limit": 10_000}, think_time_s=0.01)
    report, spans, _ = run.run_load(wanted, TWO)
    assert apart_s(span_rows(spans), ((0, 1), (2, 3))) < report.late_s
    assert min(spans.start_unix_ns) >= report.start_unix_ns - 1_000_000


def test_one_agent_gives_the_same_stream_as_this_process(tmp_path):
    wanted = plan(tmp_path, clients=2, record=True)
    outside, here = (run.run_load(wanted, where)[2] for where in (OUTSIDE, (HERE,)))
    assert without_times(outside) == without_times(here)


def test_places_without_clients_are_left_alone(tmp_path):
    report, _, _ = run.run_load(plan(tmp_path, clients=1), TWO)
    assert [place.name for place in report.places] == ["left"]
    assert report.complete


def report_of(latencies: list[list[int]], client_from: int) -> dict:
    """Returns the expected load report of clients, computed by this test. `latencies` has one list
    for each client. The list has the times in ns that the client's operations take, one after the
    other. `client_from` is the number of the first client."""
    everything = [ns for client in latencies for ns in client]
    ends = [sum(client[: n + 1]) for client in latencies for n in range(len(client))]
    per_client = [
        {
            "client": client_from + n,
            "first_start_s": 0.0,
            "last_end_s": sum(c) * 1e-9,
            "count": len(c),
            "bytes": 10 * len(c),
        }
        for n, c in enumerate(latencies)
    ]
    counted = {
        "count": len(everything),
        "bytes": 10 * len(everything),
        "latency": SUMMARY,
        "histogram": histogram(everything),
    }
    return {
        "complete": True,
        "wall_s": 1.0,
        "start_unix_ns": 5,
        "late_s": 0.0,
        "clients": len(latencies),
        "window_s": 0.0,
        "stonewall_s": min((sum(client) for client in latencies), default=0) * 1e-9,
        "rate_per_s": 0.0,
        "throughput_bytes_per_s": 0.0,
        "stonewall_rate_per_s": 0.0,
        "operations": {"stat": {**counted, "errors": 0}},
        "steps": {"stat/stat": counted},
        "ends": histogram(ends),
        "per_client": per_client,
        "errors": [],
        "verified_bytes": 0,
        "cache": {"dropped": "none"},
        "cpu_s": {"user": 0.5, "system": 0.25},
        "spans_dropped": 0,
    }


SUMMARY = dict.fromkeys(
    ("sum_s", "mean_s", "sd_s", "min_s", "max_s", "p50_s", "p90_s", "p99_s", "p999_s"), 0.0
) | {"count": 0}


def histogram(values: list[int]) -> dict:
    """Returns the histogram that the load generator would record of the values. Buckets have a
    relative width of 1/128. The sum of the values is exact."""
    lows: dict[int, int] = {}
    for value in values:
        shift = max(0, value.bit_length() - 8)
        lows[value >> shift << shift] = lows.get(value >> shift << shift, 0) + 1
    return {
        "buckets": sorted(lows.items()),
        "sum": sum(values),
        "sum_of_squares": sum(v * v for v in values),
        "minimum": min(values, default=2**64 - 1),
        "maximum": max(values, default=0),
    }


@given(
    some.lists(
        some.lists(some.integers(1, 1 << 40), min_size=1, max_size=8), min_size=2, max_size=9
    ),
    some.data(),
)
def test_merging_is_bit_for_bit_what_one_recorder_saw(clients, data):
    cut = data.draw(some.integers(1, len(clients) - 1))
    parts = [report_of(clients[:cut], 0), report_of(clients[cut:], cut)]
    merged = json.loads(_core.merge_reports([json.dumps(part) for part in parts]))
    # `whole` is a single report of all clients. This report is merged with an empty report, so that
    # the figures of `whole` are computed in the same way as the figures of `merged`.
    alone = [report_of(clients, 0), report_of([], 0)]
    whole = json.loads(_core.merge_reports([json.dumps(part) for part in alone]))
    assert merged == whole
    everything = [ns for client in clients for ns in client]
    observed = merged["operations"]["stat"]
    assert observed["count"] == observed["latency"]["count"] == len(everything)
    assert observed["histogram"] == json.loads(json.dumps(histogram(everything)))
    assert observed["latency"]["mean_s"] == pytest.approx(sum(everything) / len(everything) / 1e9)
    assert merged["cpu_s"] == {"user": 1.0, "system": 0.5}


def test_reports_that_are_none_are_refused():
    with pytest.raises(_core.InputError, match="at least one report"):
        _core.merge_reports([])
    with pytest.raises(_core.InputError, match="report 0: missing field"):
        _core.merge_reports(["{}"])


def test_a_killed_agent_makes_a_partial_result_that_says_so(tmp_path):
    wanted = plan(tmp_path, 4, operations=400, record=True, think_time_s=0.005)
    killed = []

    def kill_one(share, phase):
        if phase == "running" and share > 0.1 and not killed:
            killed.append(agents_of(os.getpid())[-1])
            os.kill(killed[0], signal.SIGKILL)

    report, _, recorded = run.run_load(wanted, TWO, kill_one)
    assert killed
    assert not report.complete
    lost = [place for place in report.places if place.lost]
    assert [place.name for place in lost] == ["right"]
    assert "SIGKILL; clients 2 to 3 are missing" in lost[0].lost
    assert report.errors[-1].first == lost[0].lost
    assert [(c.client, c.count) for c in report.per_client] == [(0, 400), (1, 400)]
    assert without_times(recorded) == b"".join(
        _core.stream_bytes(wanted.stream.text, client) for client in (0, 1)
    )
    left = sorted(path.name for path in (tmp_path / "dfslab-fleet").iterdir())
    assert left == ["c2", "c3"]


def test_a_prefix_that_does_not_end_after_the_answer_is_not_waited_for(tmp_path):
    """dfslab waits for the report of an agent, but not for the end of the prefix command that
    started the agent.

    A prefix command such as `nsenter` keeps the output open as long as the kernel holds the agent
    in a call to a file system that does not answer. In this test, the prefix command is a shell
    that sleeps after the agent has ended.
    """
    lasting = ClientHost("lasting", ("sh", "-c", '"$@"; exec sleep 3641', "sh"))
    report, _, _ = run.run_load(plan(tmp_path, 2), (HERE, lasting))
    assert report.complete
    assert [client.count for client in report.per_client] == [60, 60]
    assert children_with("3641", os.getpid()) == []


def test_what_is_wrong_names_the_place_and_leaves_nothing(tmp_path):
    with pytest.raises(shards.WrongPlan, match="left: target.root|right: target.root"):
        run.run_load(plan(tmp_path / "missing"), TWO)
    # This plan bypasses the validation of the Python types, like a plan that another program has
    # written. The core therefore has to validate it.
    somebody = plan(tmp_path)
    stream = somebody.stream.model_copy(update={"clients": 0})
    nobody = somebody.model_copy(update={"stream": stream})
    with pytest.raises(shards.WrongPlan, match="outside: .*clients = 0: 1 to 65536"):
        run.run_load(nobody, OUTSIDE)
    with pytest.raises(shards.LoadFailed, match="nowhere: no agent can be started"):
        run.run_load(plan(tmp_path), (*TWO, ClientHost("nowhere", ("/no/such/command",))))
    with pytest.raises(shards.LoadFailed, match="bad: its agent ended with status 1"):
        run.run_load(plan(tmp_path), (TWO[0], ClientHost("bad", ("false",))))
    chatty = ("sh", "-c", 'echo Welcome; exec "$@"', "sh")
    with pytest.raises(shards.LoadFailed, match="chatty: printed .*Welcome"):
        run.run_load(plan(tmp_path), (TWO[0], ClientHost("chatty", chatty)))
    assert list(tmp_path.iterdir()) == []


def controller(root: Path) -> subprocess.Popen:
    """Starts a controller process with a long workload in two agents, waits until the agents have
    started, and returns the process."""
    long = plan(root, 4, operations=10_000_000).text
    command = [sys.executable, "-c", CONTROLLER, long]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "running":
            break
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_controller_that_ends_leaves_no_agent_and_no_file(tmp_path, number):
    with controller(tmp_path) as process:
        agents = agents_of(process.pid)
        assert len(agents) == 2
        assert [path.name for path in tmp_path.iterdir()] == ["dfslab-fleet"]
        os.kill(process.pid, number)
        said = process.communicate(timeout=300)[1]
        if number == signal.SIGINT:
            assert said.strip().endswith("KeyboardInterrupt")
            assert list(tmp_path.iterdir()) == []
        assert wait_until(lambda: list(tmp_path.iterdir()) == [])
        assert wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in agents))


def talk(root: Path, number: signal.Signals | None, *documents: object) -> dict:
    """Starts an agent, sends it these documents, and sends it the signal `number` (if not None)
    when it is ready. Returns the agent's last message."""
    command = [sys.executable, "-m", "dfslab.fleet.agent"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for document in documents:
            line = document
            if not isinstance(line, bytes):
                line = (line.text if isinstance(line, LoadPlan) else json.dumps(line)).encode()
            process.stdin.write(line + b"\n")
        process.stdin.flush()
        last: dict = {}
        for line in process.stdout:
            last = json.loads(line)
            if "ready" in last and number is not None:
                assert (root / "dfslab-fleet").exists()
                os.kill(process.pid, number)
        process.stdin.close()
        assert process.wait(timeout=300) == 0
    return last


def test_an_agent_refuses_what_makes_no_sense(tmp_path):
    wanted = plan(tmp_path, 2)
    assert talk(tmp_path, None, b"{") | {"text": ""} == {"error": "protocol", "text": ""}
    assert talk(tmp_path, None, b"[1]")["text"] == "b'[1]' is no JSON object"
    assert "start_at_unix_s" in talk(tmp_path, None, wanted, {"go": 1})["text"]
    assert talk(tmp_path, None, json.loads(wanted.text) | {"surprise": 1})["error"] == "input"
    more = wanted.model_copy(update={"clients_to": 3})
    assert "parts of 0..2" in talk(tmp_path, None, more)["text"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_an_agent_and_leaves_nothing(tmp_path, number):
    word = talk(tmp_path, number, plan(tmp_path, 2))
    assert word == {"error": "stopped", "text": f"stopped by {number.name}", "left": []}
    assert list(tmp_path.iterdir()) == []


def test_a_start_may_be_given_in_unix_time(tmp_path):
    start_s = time.time() + 0.3
    word = talk(tmp_path, None, plan(tmp_path, 2), {"start_at_unix_s": start_s})
    assert word["report"]["complete"]
    assert word["report"]["start_unix_ns"] * 1e-9 == pytest.approx(start_s, abs=10)


def test_a_start_is_a_reading_of_the_monotonic_clock():
    class Shifted(ManualClock):
        """A clock whose Unix time is 1000 s behind its monotonic time."""

        def unix_ns(self) -> int:
            return super().unix_ns() - 1000 * 10**9

    assert agent.start_of({"start_at_unix_s": -890.0}, Shifted(start_s=100.0)) == 110.0
    assert agent.start_of({"start_at_monotonic_s": 110.0}, Shifted(start_s=100.0)) == 110.0
    with pytest.raises(agent.ProtocolError):
        agent.start_of({"start_at_monotonic_s": "soon"})


@pytest.mark.parametrize("method", [Measure, Trace])
def test_instruments_use_the_client_hosts_of_a_testbed(method):
    point = scenario(sizes=["64 KiB"], clients=(3,), hold_out=()).points()[0]
    with access.session() as session:
        assert session.client_hosts(point.scenario) == (HERE,)
        hosts = [
            SimpleNamespace(name="left", command=lambda words: ["env", *words]),
            SimpleNamespace(name="right", command=lambda words: ["nice", "-n", "0", *words]),
        ]
        session.use(
            SimpleNamespace(clients=hosts, observe=dict, scores={}, cluster=None, daemons={})
        )
        result = method().run(point, session)
    assert result.complete
    assert [place.name for place in result.load.places] == ["left", "right"]
    assert [client.client for client in result.load.per_client] == [0, 1, 2]
    counted = sum(count for _, count in result.load.histograms["read"])
    assert counted == sum(client.count for client in result.load.per_client) > 0


@pytest.mark.testbed
def test_two_places_share_a_directory_of_a_real_hdfs(tmp_path_factory, monkeypatch):
    """Two processes run the same streams in one directory of a real HDFS. The process that ends
    last removes the directory."""
    monkeypatch.setenv("DFSLAB_STATE", str(tmp_path_factory.mktemp("state")))
    parameters = {"datanodes": 1, "replication": 1, "block_size": "1 MiB"}
    with Testbed.up(parameters, notify=print) as testbed:
        target = HdfsTarget(uri=testbed.uri, replication=1, block_size_bytes=1 << 20)
        local = plan(Path("/"), 3, 20, record=True, verify="after")
        wanted = local.model_copy(update={"target": target})
        report, _, recorded = run.run_load(wanted, TWO)
        assert report.errors == []
        assert report.complete
        assert without_times(recorded) == without_times(run.run_load(wanted, (HERE,))[2])
        # A second run with the same directory name succeeds, so the first run has removed the
        # directory.
        assert run.run_load(wanted, TWO).report.complete


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("nsenter"), reason="needs root, nsenter")
def test_a_place_may_be_a_network_namespace(tmp_path):
    command = ["unshare", "-n", "-m", "-p", "--fork", "--kill-child", "sleep", "600"]
    with subprocess.Popen(command) as host:
        try:
            assert wait_until(lambda: len(psutil.Process(host.pid).children()) == 1)
            inside = psutil.Process(host.pid).children()[0].pid
            enter = ("nsenter", "-t", str(inside), "-n", "-m", "-p", "--")
            report, _, _ = run.run_load(plan(tmp_path, 4), (HERE, ClientHost("inside", enter)))
            stopped = []

            def stop(share: float, phase: str) -> None:
                if phase == "running":
                    stopped.append(share)
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                run.run_load(plan(tmp_path, 4, 100_000), (HERE, ClientHost("inside", enter)), stop)
        finally:
            host.kill()
    assert report.complete
    assert [client.count for client in report.per_client] == [60] * 4
    assert stopped
    assert list(tmp_path.iterdir()) == []
