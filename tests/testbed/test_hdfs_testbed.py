"""Tests that a real HDFS is started, used for reads and writes, damaged, repaired and taken down,
and leaves nothing behind."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from dfslab import _core, discover
from dfslab.filesystems.hdfs.daemon_location import NAMENODE_PORTS, DaemonLocation
from dfslab.filesystems.hdfs.testbed import Testbed
from dfslab.filesystems.hdfs.testbed_parameters import (
    TestbedParameters,
    decided_properties,
    parse_parameters,
)
from dfslab.instruments.access import testbed_parameters
from dfslab.instruments.recognising import existing
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from dfslab.spec.systems.endpoint import Endpoint
from dfslab.testbeds import registry, state
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.ports import can_listen
from support.waiting import wait_until

pytestmark = pytest.mark.testbed
SHELL = "org.apache.hadoop.fs.FsShell"
HANG_S = 240.0
SMALL = {"datanodes": 1, "replication": 1}
STARTER = """
import sys
from dfslab.filesystems.hdfs.testbed import Testbed
testbed = Testbed.up({"datanodes": 1, "replication": 1}, outlive=sys.argv[1] == "outlive")
print("up", flush=True)
if sys.argv[1] != "outlive":
    import time
    time.sleep(300)
"""


@pytest.fixture(scope="module", autouse=True)
def own_state(tmp_path_factory):
    """Provides a separate state folder for testbeds of this module. Asserts at the end that the
    tests have left no testbed in it, and that no process uses it."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DFSLAB_STATE", str(folder))
        yield folder
        assert registry.take_down("--all") == [], "a test left a testbed"
    assert mentioning(folder) == []


@pytest.fixture(scope="module")
def testbed(own_state):
    """Provides a testbed with three DataNodes. The NameNode detects a lost DataNode after 12 s
    instead of 10.5 minutes.

    The DataNodes report blocks up to a second late, as busy DataNodes do.
    """
    reported = {
        "dfs.namenode.heartbeat.recheck-interval": "1000",
        "dfs.heartbeat.interval": "1",
        "dfs.blockreport.incremental.intervalMsec": "1000",
    }
    with Testbed.up({"block_size": "1 MiB", "properties": reported}, notify=print) as running:
        yield running


def test_a_running_hdfs_says_what_it_is(testbed):
    found = existing(testbed.uri, testbed.namenode.at("http")).document()
    assert found["file_system"] == "hdfs"
    assert len(found["servers"]) == 3
    assert found["version"] == testbed.parameters.version
    assert found["size_bytes"] >= found["free_bytes"] > 0
    assert found["directory_bytes"] == 0


@pytest.fixture(scope="module")
def stored(testbed, tmp_path_factory):
    """Stores a local file of two and a half blocks as /file in the testbed's HDFS, and returns the
    local file's path."""
    source = tmp_path_factory.mktemp("source") / "file"
    source.write_bytes(random.Random(11).randbytes(5 * 2**19))
    shell(testbed, "-put", str(source), "/file")
    return source


def mentioning(folder: Path) -> list[int]:
    """Returns the PIDs of processes whose command line contains the path of the folder. The command
    line of every daemon of the testbed contains the path of the testbed's folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if os.fsencode(folder) in words:
                found.append(int(entry.name))
    return found


def wait_for(condition) -> None:
    """Waits until the condition holds. The time limit only ends a test that has failed."""
    assert wait_until(condition, HANG_S), f"not within {HANG_S} s"


def shell(testbed: Testbed, *words: str) -> str:
    answer = subprocess.run(
        testbed.java_command(SHELL, *words),
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def daemon_state(testbed: Testbed, name: str) -> str:
    return next(d.state for d in testbed.status().daemons if d.name == name)


def start_elsewhere(how: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", STARTER, how],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_what_it_says_of_itself(testbed):
    status = testbed.status()
    assert (status.live_datanodes, status.dead_datanodes) == (3, 0)
    assert status.safe_mode == ""
    names = [daemon.name for daemon in status.daemons]
    assert names == ["namenode", "datanode-1", "datanode-2", "datanode-3"]
    assert {daemon.state for daemon in status.daemons} == {"running"}
    assert len({daemon.pid for daemon in status.daemons}) == 4
    assert all(5e7 < daemon.resident_bytes < 1e9 for daemon in status.daemons)
    assert testbed.versions["hadoop"] == "3.4.3"
    assert testbed.versions["java"].startswith(("11.", "17.", "21."))
    assert testbed.endpoint == Endpoint(uri=testbed.uri)
    print(f"start to ready: {testbed.start_s:.1f} s")


def test_bytes_come_back_and_lie_in_replicated_blocks(testbed, stored, tmp_path):
    shell(testbed, "-get", "/file", str(tmp_path / "back"))
    assert digest(tmp_path / "back") == digest(stored)
    assert shell(testbed, "-stat", "%o %r %b", "/file").split() == [str(2**20), "2", str(5 * 2**19)]
    replicas = [
        p for p in testbed.folder.glob("datanode-*/current/**/blk_*") if p.suffix != ".meta"
    ]
    assert len(replicas) == 3 * 2, "2.5 MiB are three blocks of 1 MiB, twice"
    assert sum(path.stat().st_size for path in replicas) == 2 * stored.stat().st_size


@pytest.mark.parametrize("order", ["sequential", "random"])
def test_what_was_closed_before_it_was_reported_is_read_whole(testbed, order):
    """Readers get all bytes of a closed file, even if a DataNode has not yet reported the file's
    last block to the NameNode.

    Until this report, the file length that the NameNode returns to readers does not include the
    last block.
    """
    phases = [
        {"name": name, "mix": [{"operation": name}], "operations_per_client": 4, **how}
        for name, how in (("write", {}), ("read", {"access": {"order": order}}))
    ]
    stream = {
        "seed": 5,
        "clients": 2,
        "files_per_client": 0,
        "phases": phases,
        "file_size": {"fixed": 3 * 2**18},
        "transfer_size_bytes": 2**16,
    }
    plan = {
        "stream": stream,
        "target": {"kind": "hdfs", "uri": testbed.uri, "replication": 2, "block_size_bytes": 2**20},
        "run_directory": f"dfslab-{order}",
        "verify": "inline",
    }
    report = json.loads(_core.run_load(json.dumps(plan))[0])
    assert report["errors"] == []
    assert report["verified_bytes"] == 2 * 4 * 3 * 2**18


def test_a_killed_datanode_is_missed_and_comes_back(testbed, stored, tmp_path):
    testbed.kill("datanode-2")
    assert daemon_state(testbed, "datanode-2") == "dead"
    assert registry.list_testbeds()[0].why == "datanode-2 is dead"
    wait_for(lambda: testbed.status().live_datanodes == 2)
    assert testbed.status().dead_datanodes == 1
    shell(testbed, "-get", "/file", str(tmp_path / "back"))
    assert digest(tmp_path / "back") == digest(stored), "the second replicas did not serve"
    testbed.restart("datanode-2")
    assert daemon_state(testbed, "datanode-2") == "running"
    wait_for(lambda: testbed.status().live_datanodes == 3)


def test_a_paused_datanode_is_missed_and_comes_back(testbed):
    testbed.pause("datanode-3")
    assert daemon_state(testbed, "datanode-3") == "paused"
    wait_for(lambda: testbed.status().live_datanodes == 2)
    testbed.resume("datanode-3")
    wait_for(lambda: testbed.status().live_datanodes == 3)


def test_a_restarted_namenode_has_kept_the_names(testbed, stored):
    before = shell(testbed, "-ls", "/")
    assert "/file" in before
    testbed.kill("namenode")
    gone = testbed.status()
    assert (gone.live_datanodes, gone.safe_mode) == (None, None)
    testbed.restart("namenode")
    assert testbed.status().live_datanodes == 3
    assert shell(testbed, "-ls", "/") == before


def test_a_second_testbed_runs_next_to_the_first_and_leaves_nothing(testbed, tmp_path):
    fast = tmp_path / "fast"
    fast.mkdir()
    (fast / "theirs").write_text("kept")
    with Testbed.up({**SMALL, "data_directory": str(fast)}, notify=print) as second:
        assert (testbed.name, second.name) == ("hdfs", "hdfs-2")
        ports, folder = second.ports, second.folder
        assert not set(ports) & set(testbed.ports)
        assert [can_listen(port) for port in ports] == [False] * len(ports)
        shell(second, "-mkdir", "/only-here")
        assert "/only-here" not in shell(testbed, "-ls", "/")
        (data,) = [path for path in fast.iterdir() if path.is_dir()]
        assert (data / "datanode-1" / "current").is_dir()
    assert [path.name for path in fast.iterdir()] == ["theirs"]
    assert not folder.exists()
    assert mentioning(folder) == []
    wait_for(lambda: all(can_listen(port) for port in ports))
    wait_for(lambda: testbed.status().live_datanodes == 3)


def moment(name: str) -> bool:
    """Returns whether the only unfinished testbed has reached the named stage of its start."""
    return any(state.state_folder().glob(f"*/{name}"))


def interrupted(starter: subprocess.Popen[str]) -> tuple[str, str]:
    """Sends SIGINT to a process, as Ctrl-C does, and repeats the signal up to three times until the
    process has ended. Returns the process's standard output and standard error. Raises
    AssertionError if the process does not end.

    CPython loses a SIGINT that arrives while CPython runs a callback of a weak reference, for
    example during an import. A user then presses Ctrl-C once more.
    """
    for _ in range(4):
        starter.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return starter.communicate(timeout=HANG_S / 4)
    starter.kill()
    raise AssertionError(f"not interrupted: {starter.communicate()}")


@pytest.mark.parametrize("reached", ["bed.json", "logs/format.log", "logs/datanode-1.log"])
def test_an_interrupted_start_leaves_nothing(tmp_path, monkeypatch, reached):
    monkeypatch.setenv("DFSLAB_STATE", str(tmp_path))
    starter = start_elsewhere("wait")
    wait_for(lambda: moment(reached))
    out, words = interrupted(starter)
    assert "up" not in out
    assert starter.returncode == -signal.SIGINT
    assert words.rstrip().endswith("KeyboardInterrupt")
    assert [path.name for path in (tmp_path / "beds").iterdir()] == [".lock"]
    assert mentioning(tmp_path) == []


@pytest.mark.parametrize("how", ["wait", "outlive"])
def test_a_start_killed_half_way_is_stale_and_cleaned(tmp_path, monkeypatch, how):
    monkeypatch.setenv("DFSLAB_STATE", str(tmp_path))
    starter = start_elsewhere(how)
    wait_for(lambda: moment("logs/datanode-1.log"))
    starter.kill()
    starter.communicate()
    (observed,) = registry.list_testbeds()
    assert observed.state == "stale"
    assert registry.take_down("--all") == ["hdfs"]
    assert registry.list_testbeds() == []
    assert mentioning(tmp_path) == []


def test_a_testbed_may_outlive_its_starter(tmp_path, monkeypatch):
    monkeypatch.setenv("DFSLAB_STATE", str(tmp_path))
    starter = start_elsewhere("outlive")
    assert starter.communicate(timeout=HANG_S)[0] == "up\n"
    (observed,) = registry.list_testbeds()
    assert (observed.state, observed.owner) == ("up", None)
    assert observed.versions["hadoop"] == "3.4.3"
    assert registry.take_down(observed.name) == ["hdfs"]
    assert mentioning(tmp_path) == []


def test_daemons_end_when_their_owner_is_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("DFSLAB_STATE", str(tmp_path))
    owner = start_elsewhere("wait")
    assert owner.stdout is not None
    assert owner.stdout.readline() == "up\n"
    assert len(mentioning(tmp_path)) == 2
    owner.kill()
    owner.communicate()
    wait_for(lambda: mentioning(tmp_path) == [])
    states = {one.name: one.state for one in registry.list_testbeds()}
    assert states == {"hdfs": "stale"}
    assert registry.take_down("--all") == ["hdfs"]
    assert [path.name for path in (tmp_path / "beds").iterdir()] == [".lock"]


def test_a_scenario_s_parameters_are_understood():
    """Every parameter of the HDFS description becomes a Hadoop property in Hadoop's unit."""
    scenario = read(Path(__file__).parents[2] / "scenarios/hdfs.toml")
    reported = TestbedParameters.model_validate(testbed_parameters(scenario))
    assert (reported.datanodes, reported.replication, reported.complete_retry_delay_s) == (
        3,
        2,
        0.4,
    )
    properties = decided_properties(
        reported, Path("/bed"), DaemonLocation("namenode", None, "there", NAMENODE_PORTS)
    )
    declared = discover.file_system("hdfs").parameters.of_origin("filesystem").values()
    # Two parameters configure clients and are no Hadoop properties. `block_sync` is whether a
    # closed block is forced to disk. `read_streams` is the number of blocks that a client reads in
    # parallel.
    of_clients = {"block_sync", "read_streams"}
    reported = [parameter for parameter in declared if parameter.key not in of_clients]
    assert {parameter.source for parameter in reported} <= set(properties)
    delay = "dfs.client.block.write.locateFollowingBlock.initial.delay.ms"
    assert (properties[delay], properties["dfs.blocksize"]) == ("400", str(2**27))
    assert parse_parameters({"complete_retry_delay": "10 ms", "block_size": "1 MiB"})


@pytest.mark.parametrize(
    ("reported", "line"),
    [
        ({"datanodes": "0"}, "testbed.datanodes = '0': "),
        ({"datanode": "3"}, "testbed.datanode = '3': unknown; "),
        ({"replication": "4"}, "testbed.replication = 4: must be at most the 3 datanodes"),
        ({"block_size": "100 B"}, "testbed.block_size_bytes = 100: must be a multiple of the 512"),
        ({"block_size": "big"}, "testbed.block_size = 'big': "),
        ({"version": "newest"}, "testbed.version = 'newest': "),
        (
            {"data_directory": "/no/such"},
            "testbed.data_directory = '/no/such': must be an existing",
        ),
        ({"complete_retry_delay": "soon"}, "testbed.complete_retry_delay = 'soon': "),
        ({"heap_bytes": "1 MiB"}, "testbed.heap_bytes = 1048576: must be at least 64 MiB"),
        ({"fs.defaultFS": "x"}, "testbed.fs.defaultFS = 'x': is decided by the testbed"),
    ],
)
def test_wrong_parameters_are_one_clear_line(own_state, reported, line):
    before = set((own_state / "beds").glob("*"))
    with pytest.raises(InputError) as caught:
        parse_parameters(reported)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)
    assert set((own_state / "beds").glob("*")) == before


def test_a_daemon_that_cannot_start_says_why_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("DFSLAB_STATE", str(tmp_path))
    wrong = {"dfs.namenode.handler.count.ratio": "1", "dfs.block.replicator.classname": "no.Such"}
    with pytest.raises(TestbedError) as caught:
        Testbed.up({**SMALL, "properties": wrong})
    assert "no.Such" in str(caught.value)
    assert [path.name for path in (tmp_path / "beds").iterdir()] == [".lock"]
    assert mentioning(tmp_path) == []
