"""Tests that each wrong scenario ends with exit code 2 and a one-line error message, and that no
file is created."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import tomlkit
from support.command import DFSLAB, dfslab
from support.ports import silent_port

ROOT = Path(__file__).parents[2]


def local(**changes):
    """Returns a valid scenario table for a local directory. Each keyword in `changes` sets one key
    to another value, or removes the key if the value is None. A keyword stands for a dotted key,
    with __ instead of each dot."""
    table = {
        "schema": 1,
        "name": "wrong",
        "deployment": {"node": [{"name": "machine", "roles": {"client": 1, "storage": 1}}]},
        "file_system": {"name": "local"},
        "workload": {"name": "sequential_read", "file_size": "64 KiB"},
        "run": {"methods": ["measure"], "repetitions": 1},
    }
    for dotted, value in changes.items():
        place = table
        *path, last = dotted.split("__")
        for part in path:
            place = place[int(part)] if part.isdigit() else place.setdefault(part, {})
        if value is None:
            del place[last]
        else:
            place[last] = value
    return table


def hdfs(**changes):
    """Returns a valid scenario table for HDFS with three DataNodes. Each keyword in `changes` sets
    one key to another value, as in `local`."""
    roles = {"client": 1, "namenode": 1, "datanode": 3}
    table = local(
        deployment__node=[{"name": "machine", "roles": roles}],
        file_system={"name": "hdfs", "access": {"testbed": True}},
    )
    for dotted, value in changes.items():
        place = table
        *path, last = dotted.split("__")
        for part in path:
            place = place[int(part)] if part.isdigit() else place.setdefault(part, {})
        place[last] = value
    return table


# The keys are names of cases. Each value is (scenario table, words that the error line must
# contain).
WRONG = {
    "unknown key": (local(colour="red"), ["colour", "unknown"]),
    "unknown nested key": (local(run__speed=1), ["run.speed", "allowed"]),
    "misspelt key": (local(run__repetition=2), ["repetition", "did you mean repetitions"]),
    "no name": (local(name=None), ["name", "required"]),
    "bad name": (local(name="../x"), ["name", "../x"]),
    "wrong schema": (local(schema=7), ["schema", "7"]),
    "wrong unit": (local(workload__file_size="64 s"), ["workload.file_size", "64 MiB"]),
    "no unit": (local(workload__think_time=5), ["workload.think_time", "unit"]),
    "nonsense unit": (local(workload__file_size="64 bananas"), ["file_size", "bananas"]),
    "negative size": (local(workload__file_size=-1), ["workload.file_size", "-1"]),
    "zero size": (local(workload__file_size=0), ["workload.file_size"]),
    "zero clients": (local(workload__clients=0), ["workload.clients", "0"]),
    "clients as text": (local(workload__clients="many"), ["workload.clients", "many"]),
    "too many clients": (local(workload__clients=10**6), ["workload.clients"]),
    "unknown workload": (local(workload__name="sequental_read"), ["sequential_read"]),
    "unknown file system": (local(file_system__name="nofs"), ["file_system.name", "allowed"]),
    "unknown parameter": (local(file_system__copies=2), ["file_system.copies", "unknown"]),
    "unknown method": (local(run__methods=["guess"]), ["run.methods", "guess"]),
    "no method": (local(run__methods=[]), ["run.methods"]),
    "zero servers": (
        local(deployment__node__0__roles={"client": 1, "storage": 0}),
        ["storage", "at least 1"],
    ),
    "unknown role": (
        local(deployment__node__0__roles={"client": 1, "storage": 1, "boss": 1}),
        ["boss"],
    ),
    "no nodes": (local(deployment__node=[]), ["deployment.node"]),
    "two groups of one name": (
        local(
            deployment__node=[
                {"name": "a", "roles": {"client": 1}},
                {"name": "a", "roles": {"storage": 1}},
            ]
        ),
        ["own name"],
    ),
    "zero bandwidth": (local(deployment__node__0__adapter={"bandwidth": "0 bit/s"}), ["bandwidth"]),
    "negative latency": (
        local(deployment__network={"latency": "-1 ms"}),
        ["deployment.network.latency"],
    ),
    "missing directory": (
        local(file_system__access={"directory": "no/such/place"}),
        ["existing directory"],
    ),
    "file as directory": (local(file_system__access={"directory": "FILE"}), ["existing directory"]),
    "directory on a system without": (
        local(file_system__access={"testbed": True}),
        ["access.testbed", "local"],
    ),
    "a testbed emulated otherwise": (
        hdfs(file_system__access={"testbed": True}, deployment__emulated={"burst": "1 MiB"}),
        ["deployment.emulated", "testbed"],
    ),
    "replication over servers": (hdfs(file_system__replication=4), ["replication", "3 datanode"]),
    "broken replication": (hdfs(file_system__replication=1.5), ["replication", "whole"]),
    "zero replication": (hdfs(file_system__replication=0), ["replication", "at least 1"]),
    "odd block size": (hdfs(file_system__block_size=2**20 + 1), ["block_size", "512"]),
    "bed and uri": (hdfs(file_system__access={"testbed": True, "uri": "hdfs://x:1"}), ["not both"]),
    "uri without host": (hdfs(file_system__access={"uri": "nowhere"}), ["scheme://host:port"]),
    "no access": (hdfs(file_system__access={}), ["testbed = true or a uri"]),
    "unreachable HDFS": (
        hdfs(file_system__access={"uri": "hdfs://127.0.0.1:SILENT"}),
        ["no server answers at"],
    ),
    "direct I/O in odd sizes": (
        local(workload__cache="direct", workload__transfer_size="1000 B"),
        ["4096"],
    ),
    "unknown cache state": (local(workload__cache="lukewarm"), ["workload.cache", "warm"]),
    "empty grid": (local(sweep=[{"workload.clients": []}]), ["sweep.workload.clients"]),
    "grid over the seed": (local(sweep=[{"run.seed": [1, 2]}]), ["run.seed", "vary"]),
    "grid over nothing": (
        local(sweep=[{"deployment.node.nobody.cores": [1]}]),
        ["nobody", "machine"],
    ),
    "wrong value in a grid": (
        local(sweep=[{"workload.file_size": ["1 MiB", "1 kg"]}]),
        ["file_size", "1 kg"],
    ),
    "hold-out of an unswept key": (
        local(
            sweep=[{"workload.clients": [1, 2]}],
            judge={"hold_out": [{"workload.file_size": "1 MiB"}]},
        ),
        ["hold_out"],
    ),
    "hold-out of an unswept value": (
        local(sweep=[{"workload.clients": [1, 2]}], judge={"hold_out": [{"workload.clients": 3}]}),
        ["not swept", "1, 2"],
    ),
    "everything held out": (
        local(
            sweep=[{"workload.clients": [1, 2]}], judge={"hold_out": [{"workload.clients": [1, 2]}]}
        ),
        ["every configuration"],
    ),
}


def assert_refused(answer, words):
    assert answer.returncode == 2, answer.stderr + answer.stdout
    lines = answer.stderr.strip().splitlines()
    assert len(lines) == 1, answer.stderr
    assert "Traceback" not in answer.stderr
    for word in words:
        assert word in lines[0], lines[0]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.replace(" ", "-"))
def test_wrong_scenario(case, tmp_path):
    table, words = WRONG[case]
    (tmp_path / "FILE").write_text("not a directory")
    with silent_port() as port:
        (tmp_path / "scenario.toml").write_text(tomlkit.dumps(table).replace("SILENT", str(port)))
        answer = dfslab("run", "scenario.toml", cwd=tmp_path)
    assert_refused(answer, ["scenario.toml", *words])
    assert sorted(os.listdir(tmp_path)) == ["FILE", "scenario.toml"]


def test_there_are_thirty_of_them():
    assert len(WRONG) >= 30


@pytest.mark.parametrize(
    ("text", "word"), [(b"name = ", "TOML"), (b"\xff\xfe\x00", "UTF-8"), (b"", "is empty")]
)
def test_not_a_scenario(text, word, tmp_path):
    (tmp_path / "scenario.toml").write_bytes(text)
    assert_refused(dfslab("run", "scenario.toml", cwd=tmp_path), [word])
    assert os.listdir(tmp_path) == ["scenario.toml"]


def test_no_such_file(tmp_path):
    """A missing scenario file ends with exit code 2 and a one-line error message. The test also
    runs the command in a separate process, where the exit code is that of the process."""
    answer = subprocess.run(
        [DFSLAB, "run", "none.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert_refused(answer, ["none.toml", "no such file"])


def test_directory_that_is_not_writable(tmp_path):
    """A directory on a read-only file system is refused with a one-line error message. Even root
    cannot write to such a directory."""
    table = local(file_system__access={"directory": "/proc"})
    (tmp_path / "scenario.toml").write_text(tomlkit.dumps(table))
    answer = dfslab("run", "scenario.toml", cwd=tmp_path)
    assert_refused(answer, ["/proc"])
    assert os.listdir(tmp_path) == ["scenario.toml"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("fly",),
        ("run", "x.toml", "--speed"),
        ("predict", "x.toml"),
        ("show", "filesystem", "nothing"),
        ("show", "filesystem", "hdfs", "--as", "poem"),
        ("testbed", "up", "local"),
        ("testbed", "down"),
        ("compare", "nowhere"),
        ("report", "nowhere"),
        ("trace", "report", "nowhere.otlp"),
        ("testbed", "down", "no-such-bed"),
    ],
)
def test_wrong_command_lines(arguments, tmp_path):
    answer = dfslab(*arguments, cwd=tmp_path)
    assert_refused(answer, [])
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("override", ["workload.clients", "=3", "workload.clients=zero", "a.b=1"])
def test_wrong_overrides(override, tmp_path):
    quickstart = ROOT / "scenarios" / "quickstart.toml"
    answer = dfslab("run", quickstart, "--set", override, cwd=tmp_path)
    assert_refused(answer, [])
    assert not os.listdir(tmp_path)
