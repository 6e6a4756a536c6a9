"""Tests of a traced HDFS. Every call is counted. The calling context of every call is the client's
operation that caused the call."""

from __future__ import annotations

import filecmp
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from dfslab.filesystems.hdfs.daemon_location import Bean
from dfslab.filesystems.hdfs.testbed import Testbed
from dfslab.instruments import access
from dfslab.instruments import trace as tracing
from dfslab.instruments.contract import MeasurementOptions
from dfslab.instruments.tracing import callprofile
from dfslab.instruments.tracing import exemplar_traces as drawn
from dfslab.spec.scenario import read
from dfslab.studies import bottlenecks
from support.profiles import call_profile

pytestmark = pytest.mark.testbed
SHELL = "org.apache.hadoop.fs.FsShell"
ROOT = Path(__file__).parents[2]
MIB = 2**20
BLOCKS = 3
SMALL_FILES = 8
# With this option, a DataNode delays the report of a received block by up to 1000 ms. The close of
# each file waits for the report.
REPORTED_LATE = "dfs.blockreport.incremental.intervalMsec=1000"


def shell(testbed: Testbed, *words: str) -> None:
    answer = subprocess.run(
        testbed.java_command(SHELL, *words),
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert "dfslab-agent" not in answer.stderr


class Calls(Bean, extra="allow"):
    """A metrics object of the NameNode with a count of calls for each method. The fields have the
    names of Hadoop's metrics."""


def served(testbed: Testbed) -> dict[str, int]:
    """Returns the number of calls of each method that the NameNode has served. The numbers come
    from the NameNode's metrics, which lag by up to 10 s. The function therefore waits until the
    numbers no longer change."""
    port = testbed.uri.rpartition(":")[2]
    Calls.NAME = f"Hadoop:service=NameNode,name=RpcDetailedActivityForPort{port}"
    before: dict[str, int] = {}
    for _ in range(6):
        observed = testbed.namenode.ask(Calls) or Calls()
        counted = observed.model_extra or {}
        calls = {key[:-6]: value for key, value in counted.items() if key.endswith("NumOps")}
        if "Rename" in calls and calls == before:
            break
        before = calls
        time.sleep(11)
    return calls


def exemplar_spans(folder: Path) -> list[dict[str, Any]]:
    """Returns the spans of all exemplar traces in the folder. The attributes of each span are
    converted to a dictionary from key to value."""
    found = []
    for path in folder.glob("*.otlp.json"):
        for one in json.loads(path.read_text())["resourceSpans"]:
            for span in one["scopeSpans"][0]["spans"]:
                reported = {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}
                found.append({**span, "attributes": reported})
    return found


@pytest.fixture(scope="module")
def traced(tmp_path_factory) -> dict[str, Any]:
    """Puts and gets a file of three blocks at replication 2, and returns the profiles that the
    client and all daemons recorded meanwhile."""
    folder, files = tmp_path_factory.mktemp("profiles"), tmp_path_factory.mktemp("files")
    source = files / "source"
    source.write_bytes(random.Random(6).randbytes(BLOCKS * MIB))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DFSLAB_STATE", str(tmp_path_factory.mktemp("state")))
        reported = {
            "datanodes": 2,
            "replication": 2,
            "block_size": "1 MiB",
            "trace": True,
            "trace_directory": str(folder),
        }
        with Testbed.up(reported, notify=print) as testbed:
            shell(testbed, "-put", str(source), "/file")
            shell(testbed, "-get", "/file", str(files / "back"))
            counted = served(testbed)
            logs = "".join(log.read_text() for log in (testbed.folder / "logs").glob("*.log"))
    assert filecmp.cmp(source, files / "back", shallow=False)
    top = callprofile.merge((str(p), callprofile.read(p)) for p in callprofile.expand([folder]))
    places = {str(path): node for path, node in callprofile.walk(top)}
    return {
        "folder": folder,
        "spans": exemplar_spans(folder),
        "places": places,
        "counted": counted,
        "logs": logs,
    }


def ending(traced: dict[str, Any], *ends: str) -> list[tuple[str, callprofile.MergedStep]]:
    return [(path, node) for path, node in traced["places"].items() if path.endswith(ends)]


def test_every_point_of_the_file_is_instrumented_where_its_class_is_loaded(traced):
    assert "dfslab-agent" not in traced["logs"]
    never_loaded = None
    for path in callprofile.expand([traced["folder"]]):
        points = callprofile.read(path).points
        assert {point.state for point in points} <= {
            callprofile.INSTRUMENTED,
            callprofile.NOT_LOADED,
        }
        here = {point.point for point in points if point.state == callprofile.NOT_LOADED}
        never_loaded = here if never_loaded is None else never_loaded & here
    assert never_loaded == set(), "points whose class no process loaded"


def test_the_namenode_s_calls_are_counted_as_it_counts_them(traced):
    for method in ("create", "addBlock", "complete", "rename", "getBlockLocations"):
        ours = sum(n.count for _, n in ending(traced, f"namenode:{method}"))
        assert ours == traced["counted"][method[0].upper() + method[1:]], method


def test_a_call_is_served_once_and_inside_the_caller_s_wait(traced):
    calls = [
        (p, n)
        for p, n in traced["places"].items()
        if n.name.startswith("rpc_")
        and p.startswith("client:")
        and "rpc_" not in p.rpartition("/")[0]
        and n.kind == "blocked"
    ]
    assert len(calls) > 5
    for path, node in calls:
        (one,) = node.children.values()
        assert one.name == f"namenode:{node.name[4:]}", path
        assert one.count == node.count, path
        assert one.total_ns > 0, path
    waited, served = (
        sum(times)
        for times in zip(
            *((node.total_ns, next(iter(node.children.values())).total_ns) for _, node in calls),
            strict=True,
        )
    )
    assert served < waited


def test_the_pipeline_hangs_under_the_write_that_caused_it(traced):
    chains = ending(traced, "connect_pipeline/datanode:write_block/datanode:write_block")
    assert all(path.startswith("client:put/") for path, _ in chains)
    assert sum(node.count for _, node in chains) == BLOCKS
    disks = dict(ending(traced, "receive_packet/write_disk"))
    assert all(path.startswith("client:put/") for path in disks)
    for depth in (1, 2):
        here = [n for p, n in disks.items() if p.count("datanode:write_block") == depth]
        assert sum(node.bytes for node in here) == BLOCKS * MIB, f"replica {depth}"
    received = sum(n.bytes for _, n in ending(traced, "receive_block/receive_packet"))
    assert received == 2 * BLOCKS * MIB


def test_the_first_replica_passes_on_what_the_last_one_verifies(traced):
    mirrored = ending(traced, "receive_packet/mirror_packet")
    verified = ending(traced, "receive_packet/verify_checksum")
    assert {path.count("datanode:write_block") for path, _ in mirrored} == {1}
    assert {path.count("datanode:write_block") for path, _ in verified} == {2}
    stored = [
        n
        for p, n in ending(traced, "receive_packet/write_disk")
        if p.count("datanode:write_block") == 2
    ]
    packets = sum(node.count for node in stored)
    assert sum(node.count for _, node in verified) == packets >= BLOCKS
    # The empty packet at the end of each block is not written to disk, but it is forwarded to the
    # next DataNode.
    assert sum(node.count for _, node in mirrored) == packets + BLOCKS


def test_every_served_call_has_its_time_in_the_queue(traced):
    queues = ending(traced, "/rpc_queue")
    assert {node.kind for _, node in queues} == {"queue"}
    served = {p for p, n in traced["places"].items() if n.name.startswith("namenode:") and "/" in p}
    assert {path.rpartition("/")[0] for path, _ in queues} == served
    for path, node in queues:
        assert node.count == traced["places"][path.rpartition("/")[0]].count, path


def test_hand_overs_keep_the_cause(traced):
    responders = ending(traced, "receive_block/respond")
    assert sum(node.count for _, node in responders) == 2 * BLOCKS
    assert all(path.startswith("client:put/") for path, _ in responders)
    answers = ending(traced, "log_edit/answer")
    for cause in ("rpc_create", "rpc_addBlock", "rpc_complete", "rpc_rename"):
        assert any(f"/{cause}/" in path for path, _ in answers), cause


def test_the_read_s_bytes_are_the_file_s(traced):
    read = traced["places"]["client:get/read"]
    sent = ending(traced, "datanode:read_block/send_block/send_packet/transfer_to_socket")
    assert read.bytes == sum(n.bytes for _, n in sent) == BLOCKS * MIB
    assert all(path.startswith("client:get/read/") for path, _ in sent)


def test_lock_waits_are_those_that_hadoop_measures(traced):
    reported = sum(n.total_ns for _, n in ending(traced, "/rpc_lock_wait"))
    ours = sum(
        n.total_ns
        for p, n in traced["places"].items()
        if n.kind == "lock" and "namenode:" in p and p.count("/") > 1
    )
    assert 0 < reported <= ours
    processed = ending(traced, "/rpc_processing")
    for path, node in processed:
        call = traced["places"][path.rpartition("/")[0]]
        assert node.count == call.count, path
        assert node.total_ns < call.total_ns, path


def test_exemplar_traces_name_their_file_or_block_and_their_cause(traced):
    named: dict[str, set[str]] = {}
    for span in traced["spans"]:
        named.setdefault(span["name"], set()).add(span["attributes"].get("dfslab.about", ""))
    assert named["start_file"] == {"/file._COPYING_"}
    assert named["locate_blocks"] == {"/file"}
    assert all("blk_" in text for step in ("write_block", "receive_block") for text in named[step])
    causes = {
        s["attributes"].get("dfslab.cause")
        for s in traced["spans"]
        if s["name"] == "create" and "parentSpanId" not in s
    }
    assert causes == {"client:put/create/rpc_create"}
    profile = tracing.profile(sorted(traced["folder"].glob("*.otlp.json")))
    assert profile.spans == len(traced["spans"])


def test_background_work_is_apart(traced):
    beats = [path for path, _ in ending(traced, "rpc_sendHeartbeat")]
    assert beats == ["datanode:rpc_sendHeartbeat"]


def test_the_report_says_it(traced):
    report = call_profile(callprofile.expand([traced["folder"]]))
    services = {process["service"] for process in report["processes"]}
    assert services == {"namenode", "datanode", "client"}
    assert all(process["last"] for process in report["processes"])
    assert report["losses"]["too_deep"] == report["losses"]["misplaced"] == 0
    assert report["ranking"]
    assert report["waits"]


def test_a_command_recorded_on_small_files_waits_for_the_client_s_back_off(tmp_path):
    """A command on small files mostly waits for the client's back-off between retries, and not for
    the NameNode or a disk. The study Liu 2018 found another cause."""
    files, profiles = tmp_path / "files", tmp_path / "profiles"
    files.mkdir()
    for number in range(SMALL_FILES):
        (files / f"{number:02}").write_bytes(bytes(4096))
    back, page = tmp_path / "back", tmp_path / "page.html"
    command = (
        f"hadoop fs -mkdir /small && hadoop fs -put {files}/* /small && "
        f"hadoop fs -ls /small && hadoop fs -get /small/07 {back}"
    )
    settings = ("datanodes=1", "replication=1", REPORTED_LATE)
    sets = [word for setting in settings for word in ("--set", setting)]
    record = ["trace", "record", "--on", "hdfs", "--json", *sets, "-o", str(profiles)]
    answer = subprocess.run(
        [sys.executable, "-m", "dfslab.cli", *record, "--", "sh", "-c", command],
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
        env={**os.environ, "DFSLAB_STATE": str(tmp_path / "state")},
    )
    assert answer.returncode == 0, answer.stderr
    assert back.read_bytes() == bytes(4096)
    report = json.loads(answer.stdout)
    roots = {root["name"]: root for root in report["roots"]}
    assert all(roots[f"client:{word}"]["count"] == 1 for word in ("mkdir", "put", "ls", "get"))
    written = subprocess.run(
        [
            sys.executable,
            "-m",
            "dfslab.cli",
            "trace",
            "report",
            str(profiles),
            "--page",
            str(page),
            "--json",
            "--model",
            str(ROOT / "scenarios" / "hdfs.toml"),
        ],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert written.returncode == 0, written.stderr
    assert "Steps compared with the model" in page.read_text()
    modelled = {row["step"]: row for row in json.loads(written.stdout)["modelled"]}
    assert modelled["close/backoff"]["traced_s"] > 0.1
    assert modelled["create"]["count"] == SMALL_FILES
    of_client = [row for row in report["waits"] if row["path"].startswith("client:put/")]
    # The client's back-off is among the three longest waits. The back-off need not be the longest
    # wait, because on a busy machine the call to the NameNode may take longer.
    longest = {row["path"] for row in of_client[:3]}
    assert "client:put/close/complete_file/complete_back_off" in longest, longest
    assert of_client[0]["self_s"] > sum(
        row["self_s"]
        for row in report["ranking"]
        if row["path"].startswith("client:put/") and "namenode:" in row["path"]
    )


def test_a_program_s_requests_are_all_counted_and_nothing_before_them(tmp_path, monkeypatch):
    """All requests in the timed part of the program are counted. Requests before the timed part are
    not counted. The test runs the program of scenarios/liu-request-frequency.toml with few and
    short sessions."""
    monkeypatch.setenv("DFSLAB_STATE", str(tmp_path / "state"))
    words = {"file_size": "1 MiB", "rate_factor": 0.1, "length_s": 1, "warm_up_sessions": 3}
    chosen = read(ROOT / "scenarios" / "liu-request-frequency.toml").with_overrides(
        {
            "deployment.node.machine.roles.datanode": 1,
            "file_system.replication": 1,
            **{f"workload.{key}": value for key, value in words.items()},
        }
    )
    (point,) = chosen.points()
    with access.session() as session:
        session.reach(point.scenario, counts_calls=True)
        session.mark_warm()  # no warm-up is run, because the test checks no time
        result = tracing.Trace().run(
            point, session, options=MeasurementOptions(trace_directory=tmp_path)
        )
    (program,) = bottlenecks.bottlenecks([result], tmp_path)
    by_name = {one.name: one for one in program.functions}
    made, requested = by_name["FileSystem#createFileSystem"], by_name["request (open, read)"]
    # The count includes the ten timed sessions, but neither the warm-up sessions nor the session
    # that writes the files.
    assert made.count == 10
    assert requested.count == by_name["FSNamesystem#getBlockLocations"].count >= 10
    assert by_name["BlockSender#sendBlock"].count >= requested.count
    assert by_name["DFSOutputStream#close"].count == 0
    # Because of rounding, the sum of the two totals may slightly exceed the program's total time in
    # calls. All three numbers are sums of the same nanoseconds, but they are converted to seconds
    # and added in different orders.
    assert 0 < requested.total_s + made.total_s <= program.calls_s * (1 + 1e-9)
    assert program.steps[0].saving > 0
    whole = drawn.timelines(drawn.exemplar_files(bottlenecks.profiles([result], tmp_path)))
    assert "open" in {one.name for one in whole}
