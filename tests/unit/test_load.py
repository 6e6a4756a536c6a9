"""Tests of the load generator when it is called from Python: its streams, runs, errors, progress
reports, and Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from dfslab import _core
from dfslab.documents.rows import operations
from dfslab.filesystems.hdfs import java
from dfslab.filesystems.hdfs.testbed import Testbed
from support.rows import span_rows
from support.synthetic import ONE_OPERATION, without_times

KINDS = ["read", "write", "append", "create", "stat", "list", "rename", "delete", "mkdir"]
INTERRUPTED = """
import json, sys
from dfslab import _core
def progress(share, phase):
    print(phase, flush=True)
try:
    _core.run_load(sys.argv[1], progress)
except KeyboardInterrupt as error:
    print("interrupted", getattr(error, "__notes__", []), flush=True)
"""
# A program that limits its addresses and runs a plan.
LIMITED = """
import json, resource, sys
from dfslab import _core
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
try:
    print(json.loads(_core.run_load(sys.argv[2])[0])["complete"])
except _core.RunError as error:
    print(error)
"""


def stream(kinds=KINDS, **changes) -> dict:
    """Returns a small stream specification with equal shares of the operations `kinds`. `changes`
    replaces fields of the specification."""
    return {
        "seed": 5,
        "clients": 2,
        "operations_per_client": 90,
        "files_per_client": 6,
        "mix": [{"operation": kind, "weight": 1.0} for kind in kinds],
        "file_size": {"lognormal": {"median": 50_000, "sigma": 1.0, "max": 1_000_000}},
        "transfer_size_bytes": 65536,
        "file_choice": {"zipf": 1.1},
        **changes,
    }


def plan(target: dict, kinds=KINDS, changes: dict | None = None, **top) -> str:
    """Returns the JSON text of a plan for a target. The run directory is `dfslab-run`. `changes`
    replaces fields of the stream, and `top` replaces fields of the plan."""
    chosen = stream(kinds, **(changes or {}))
    return json.dumps({"stream": chosen, "target": target, "run_directory": "dfslab-run", **top})


def posix(root: Path, **options) -> dict:
    return {"kind": "posix", "root": str(root), **options}


def recorded_stream(spec: dict) -> bytes:
    return b"".join(_core.stream_bytes(json.dumps(spec), c) for c in range(spec["clients"]))


def test_tuples_and_bytes_are_the_same_stream():
    text = json.dumps(stream())
    tuples = list(operations(_core.stream_operations(text, 1)))
    decoded = list(ONE_OPERATION.iter_unpack(_core.stream_bytes(text, 1)))
    assert len(tuples) == 90
    assert [(c, KINDS[kind], n, *rest) for c, kind, n, *rest in decoded] == [
        (c, kind, n, *rest) for c, n, kind, *rest in tuples
    ]
    assert list(operations(_core.stream_operations(text, 1, 7))) == tuples[:7]


def test_prepared_bytes_are_those_of_the_files(tmp_path):
    spec = stream(["stat"])
    prepared = _core.prepared_bytes(json.dumps(spec))
    _core.run_load(plan(posix(tmp_path), ["stat"], keep=True))
    files = [path for path in (tmp_path / "dfslab-run").rglob("*") if path.is_file()]
    assert len(files) == 12
    assert sum(path.stat().st_size for path in files) == prepared
    assert _core.prepared_bytes(json.dumps(stream(["write"]))) == 0


def test_every_operation_runs_as_in_the_stream(tmp_path):
    text = plan(posix(tmp_path), verify="inline", record=True, spans={"limit": 10_000})
    report, spans, recorded = _core.run_load(text)
    outcome = json.loads(report)
    assert outcome["complete"]
    assert outcome["errors"] == []
    assert without_times(recorded) == recorded_stream(stream())
    assert sum(o["count"] for o in outcome["operations"].values()) == 180
    assert outcome["verified_bytes"] == outcome["operations"]["read"]["bytes"] > 0
    assert list(tmp_path.iterdir()) == []
    rows = span_rows(spans)
    by_id = {span[3]: span for span in rows}
    children = [span for span in rows if span[4]]
    assert len(by_id) == len(spans)
    assert len(spans) - len(children) == 180
    for name, start, end, _, parent, thread, _ in children:
        whole = by_id[parent]
        assert name.split("/")[0] == whole[0]
        assert whole[1] <= start <= end <= whole[2]
        assert thread == whole[5]


def test_histogram_and_summary_agree(tmp_path):
    report, _, _ = _core.run_load(plan(posix(tmp_path), ["stat", "read"]))
    for observed in json.loads(report)["operations"].values():
        latency, histogram = observed["latency"], observed["histogram"]["buckets"]
        count = sum(number for _, number in histogram)
        assert count == latency["count"] == observed["count"]
        low = sum(low_ns * number for low_ns, number in histogram) * 1e-9
        assert low <= latency["sum_s"] <= low * 1.008
        ordered = [latency[key] for key in ("min_s", "p50_s", "p90_s", "p99_s", "p999_s", "max_s")]
        assert ordered == sorted(ordered)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": {"kind": "posix", "root": "/no/such/place"}}, "target.root.*must be an exist"),
        ({"target": {"kind": "tape"}}, "tape"),
        ({"target": {"kind": "null"}, "verify": "after"}, "null cannot verify content"),
        ({"run_directory": "../out"}, "run_directory"),
        ({"stream": stream(clients=0)}, "clients = 0: 1 to 65536"),
        ({"stream": stream(["sing"])}, "sing"),
        ({"stream": stream(file_size={"fixed": -1})}, "file_size|invalid value|fixed"),
        ({"time_limit_s": 0}, "time_limit_s"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_wrong_plans_are_one_clear_line(tmp_path, changes, message):
    wrong = {**json.loads(plan(posix(tmp_path))), **changes}
    with pytest.raises(_core.InputError) as raised:
        _core.run_load(json.dumps(wrong))
    assert re.search(message, str(raised.value))
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_client_that_is_none_is_refused():
    with pytest.raises(_core.InputError, match="client = 2: 0 to 1"):
        _core.stream_bytes(json.dumps(stream()), 2)
    with pytest.raises(_core.InputError, match="allowed: null, posix, hdfs"):
        _core.capabilities("tape")
    assert json.loads(_core.capabilities("hdfs"))["fsync"] is True


def test_a_root_that_cannot_be_written_is_an_input_error(tmp_path):
    # Root can write everywhere except in the kernel's own file systems, such as /proc.
    with pytest.raises(_core.InputError, match="cannot be made there"):
        _core.run_load(plan(posix(Path("/proc"))))
    (tmp_path / "dfslab-run").mkdir()
    with pytest.raises(_core.InputError, match="cannot be made there"):
        _core.run_load(plan(posix(tmp_path)))


def in_memory(limit_bytes: int, text: str) -> subprocess.CompletedProcess:
    """Runs a plan in a process whose addresses are limited to `limit_bytes`."""
    limited = [sys.executable, "-c", LIMITED, str(limit_bytes), text]
    return subprocess.run(limited, capture_output=True, text=True, timeout=300, check=False)


def test_the_stacks_of_many_clients_fit_into_little_memory(tmp_path):
    """4,096 clients fit into 8 GiB of addresses. If they do not fit, the error names the client and
    the limits."""
    many = {"clients": 4096, "operations_per_client": 1, "files_per_client": 1}
    text = plan(posix(tmp_path), ["mkdir"], many)
    done = in_memory(8 << 30, text)
    assert done.stdout == "True\n", done.stderr
    done = in_memory(2 << 30, text)
    assert re.fullmatch(
        r'start a thread for "client \d+ of 4096": .*; raise the limit of threads \(ulimit -u, '
        r"pids.max of the control group\) or of memory \(ulimit -v\), or run fewer clients\n",
        done.stdout,
    )
    assert list(tmp_path.iterdir()) == []


def test_progress_is_reported_and_may_stop_the_run(tmp_path):
    reported = []

    def progress(share, phase):
        reported.append((share, phase))
        if phase == "running" and share > 0.2:
            raise ValueError("enough")

    changes = {"operations_per_client": 200, "think_time_s": 0.01}
    with pytest.raises(ValueError, match="enough"):
        _core.run_load(plan(posix(tmp_path), ["stat"], changes), progress)
    assert all(0 <= share <= 1 for share, _ in reported)
    assert reported[-1][0] < 0.9
    assert list(tmp_path.iterdir()) == []


def test_others_run_while_a_load_does(tmp_path):
    """Other Python threads continue to run during a workload run, even between two progress
    reports."""
    ticks, reported = [], []
    over = threading.Event()

    def tick():
        while not over.wait(0.001):
            ticks.append(1)

    def progress(share, phase):
        reported.append(len(ticks))
        if phase == "running" and any(after - before > 5 for before, after in pairwise(reported)):
            raise InterruptedError

    ticking = threading.Thread(target=tick)
    ticking.start()
    # The whole run would take hours, so only the interruption ends it in time.
    changes = {"operations_per_client": 1_000_000, "think_time_s": 0.02}
    try:
        with pytest.raises(InterruptedError):
            _core.run_load(plan(posix(tmp_path), ["stat"], changes), progress)
    finally:
        over.set()
        ticking.join()


def test_control_c_cleans_up(tmp_path):
    changes = {"operations_per_client": 10_000_000}
    text = plan(posix(tmp_path), changes=changes)
    command = [sys.executable, "-c", INTERRUPTED, text]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.strip() == "running":
                break
        os.kill(process.pid, signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(timeout=120) == 0
    assert "interrupted []" in rest
    assert list(tmp_path.iterdir()) == []


@pytest.mark.testbed
def test_everything_on_a_real_hdfs(tmp_path_factory, monkeypatch):
    """Runs on a real HDFS with each of two client libraries. The runs complete without errors and
    verify all data that they read. The runs execute the same operations as a local run and leave no
    files."""
    monkeypatch.setenv("DFSLAB_STATE", str(tmp_path_factory.mktemp("state")))
    parameters = {"datanodes": 2, "replication": 2, "block_size": "1 MiB"}
    with Testbed.up(parameters, notify=print) as testbed:
        target = {
            "kind": "hdfs",
            "uri": testbed.endpoint.uri,
            "replication": 2,
            "block_size_bytes": 1 << 20,
            "fsync": "close",
        }
        hadoop = {
            **target,
            "kind": "hadoop",
            **java.client(testbed.java_configuration)._asdict(),
            "sync_block": True,
        }
        changes = {
            "operations_per_client": 30,
            "files_per_client": 4,
            "file_size": {"uniform": {"low": 1, "high": 3_000_000}},
        }
        more = [*KINDS, "exists", "chmod", "set_xattr", "get_xattr", "pread", "rmdir"]
        for reported, kinds, verify in (
            (target, KINDS, "inline"),
            (target, KINDS, "after"),
            (hadoop, KINDS, "after"),
            ({**hadoop, "shared_client": True}, more, "inline"),
        ):
            text = plan(reported, kinds, changes, verify=verify, record=True)
            report, _, recorded = _core.run_load(text)
            outcome = json.loads(report)
            assert outcome["errors"] == []
            assert outcome["complete"]
            assert outcome["verified_bytes"] > 0
            assert without_times(recorded) == recorded_stream(stream(kinds, **changes))
            if kinds is KINDS:
                assert set(outcome["operations"]) == set(KINDS)
        again = json.loads(plan(target, ["stat"], {"clients": 1}))
        again["target"]["root"] = "/dfslab-run"
        with pytest.raises(_core.InputError, match="must be an existing directory"):
            _core.run_load(json.dumps(again))
