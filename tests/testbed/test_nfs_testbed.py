"""Tests that a real NFS server is started, used over its link, damaged, repaired and taken down,
and leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dfslab import _core, discover
from dfslab.filesystems.nfs.testbed import Testbed
from dfslab.spec.deployment import Deployment
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.standard import standard
from dfslab.testbeds.errors import TestbedError

pytestmark = pytest.mark.testbed
KINDS = ["read", "write", "append", "create", "stat", "list", "rename", "delete", "mkdir"]
SIZE_BYTES = 300_000


@pytest.fixture(scope="module")
def testbed(nothing_left):
    """Provides a testbed with one server and one client."""
    with Testbed.up(notify=print) as running:
        yield running


def plan(testbed, kinds, changes=None, target=None, **top) -> str:
    """Returns the JSON text of a load plan for three clients. The clients run operations of the
    types `kinds` in a new directory of the export. `changes` replaces fields of the operation
    stream. `top` replaces fields of the plan."""
    stream = {
        "seed": 7,
        "clients": 3,
        "operations_per_client": 60,
        "files_per_client": 6,
        "mix": [{"operation": kind, "weight": 1.0} for kind in kinds],
        "file_size": {"fixed": SIZE_BYTES},
        "transfer_size_bytes": 65536,
        "file_choice": "uniform",
        **(changes or {}),
    }
    endpoint = testbed.endpoint
    table = {"kind": "nfs", "server": endpoint.server, "export": endpoint.export, **(target or {})}
    return json.dumps({"stream": stream, "target": table, "run_directory": "run", **top})


def load(testbed, *arguments, **named) -> dict:
    """Runs the plan that `plan` makes from the given arguments in the testbed's client host, and
    returns the load report."""
    text = plan(testbed, *arguments, **named)
    return json.loads(testbed.clients[0].in_network(lambda: _core.run_load(text))[0])


def served(testbed) -> Path:
    """Returns the path at which this process can open the exported directory."""
    return testbed.server.path(testbed.directory)


def sent_bytes(host) -> int:
    """Returns the bytes that the host's network adapter has sent."""
    text = host.run("cat", "/proc/net/dev")
    return next(int(line.split()[9]) for line in text.splitlines() if "eth0:" in line)


def test_every_operation_is_verified_over_the_link_and_leaves_nothing(testbed):
    before = sent_bytes(testbed.clients[0])
    report = load(testbed, KINDS, target={"fsync": "close"}, verify="inline")
    assert report["complete"], report["errors"]
    assert sum(one["count"] for one in report["operations"].values()) == 180
    assert report["verified_bytes"] == report["operations"]["read"]["bytes"] > 0
    assert report["steps"]["write/fsync"]["count"] == report["operations"]["write"]["count"]
    written = report["operations"]["write"]["bytes"] + report["operations"]["append"]["bytes"]
    # The client sends the data that it writes during the run and the files that it prepares before
    # the run. Message headers and requests without data add few bytes.
    prepared = 3 * 6 * SIZE_BYTES
    sent = sent_bytes(testbed.clients[0]) - before
    assert written + prepared <= sent < 1.2 * (written + prepared) + 2**20
    assert list(served(testbed).iterdir()) == []


@pytest.mark.parametrize("stability", ["unstable", "data_sync", "file_sync"])
def test_what_is_written_is_what_another_client_and_the_disk_hold(testbed, stability):
    target = {"stability": stability, "write_size_bytes": 10_000, "read_size_bytes": 7_000}
    report = load(testbed, ["write", "read"], {"clients": 1}, target, verify="after", keep=True)
    assert report["complete"], report["errors"]
    files = sorted((served(testbed) / "run/c0").iterdir())
    assert len(files) == 6 + report["operations"]["write"]["count"]
    assert report["verified_bytes"] == len(files) * SIZE_BYTES
    for path in files[:3]:
        held = path.read_bytes()
        url = f"{testbed.url}/run/c0/{path.name}?version=3"
        observed = testbed.clients[0].run("sh", "-c", f"nfs-cat '{url}' | sha256sum").split()[0]
        host = testbed.server.run(
            "sha256sum", str(testbed.directory / "run/c0" / path.name)
        ).split()[0]
        assert (len(held), observed) == (SIZE_BYTES, host)
    testbed.server.run("rm", "-r", str(testbed.directory / "run"))


def test_a_spoiled_byte_on_the_servers_disk_is_found(testbed):
    observed: list[str] = []

    def spoil(share: float, phase: str) -> None:
        if phase == "running" and not observed:
            with (served(testbed) / "run/c0/f3").open("r+b") as file:
                file.seek(1000)
                byte = file.read(1)[0]
                file.seek(1000)
                file.write(bytes([byte ^ 1]))
            observed.append("spoiled")

    text = plan(
        testbed, ["stat"], {"operations_per_client": 40, "think_time_s": 0.05}, verify="after"
    )
    run = testbed.clients[0].in_network(lambda: _core.run_load(text, spoil))
    errors = json.loads(run[0])["errors"]
    assert observed == ["spoiled"]
    assert [error["kind"] for error in errors] == ["corruption"], errors
    assert '"c0/f3": byte 1000 ' in errors[0]["first"]


def test_a_long_directory_is_listed_whole(testbed):
    """A directory whose entries do not fit into one answer of the server is listed completely. The
    client therefore has to request the next page of entries. If it did so incorrectly, the server
    would return an error."""
    report = load(
        testbed,
        ["list"],
        {
            "clients": 1,
            "files_per_client": 700,
            "operations_per_client": 3,
            "file_size": {"fixed": 1},
        },
    )
    assert report["complete"], report["errors"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("root", "/missing"),
        ("root", "/../etc"),
        ("export", "/other"),
        ("export", "relative"),
        ("read_size_bytes", 100),
        ("server", "no-such-host.invalid"),
        ("direct", True),
        ("drop_caches", "files"),
    ],
)
def test_targets_that_cannot_be_are_wrong_input(testbed, key, value):
    with pytest.raises(_core.InputError, match=r"^target.*" + key.split("_")[0]):
        load(testbed, ["write"], target={key: value})
    assert list(served(testbed).iterdir()) == []


def test_what_is_there_already_is_never_touched(testbed):
    mine = served(testbed) / "run"
    mine.mkdir()
    (mine / "mine").write_text("mine")
    with pytest.raises(_core.InputError, match="there already"):
        load(testbed, ["write"])
    assert (mine / "mine").read_text() == "mine"
    testbed.server.run("rm", "-r", str(testbed.directory / "run"))


def test_a_run_directory_that_parts_share_is_joined_and_left_to_the_others(testbed):
    # The directory has a name that was not used before. The server does not notice that this
    # process removes directories, so it could return cached entries of an earlier directory with
    # the same name.
    mine = served(testbed) / "shared"
    mine.mkdir()
    (mine / "theirs").write_text("theirs")
    report = load(testbed, ["write", "read"], verify="after", shared=True, run_directory="shared")
    assert report["complete"], report["errors"]
    assert [path.name for path in mine.iterdir()] == ["theirs"]
    testbed.server.run("rm", "-r", str(testbed.directory / "shared"))


def test_a_server_that_dies_is_reported_and_one_that_returns_serves(testbed):
    endless = {"operations_per_client": 1_000_000}
    killed: list[str] = []

    def kill(share: float, phase: str) -> None:
        if phase == "running" and not killed:
            killed.append("ganesha")
            testbed.kill("ganesha")

    text = plan(testbed, ["write"], endless, keep=True)
    report = json.loads(testbed.clients[0].in_network(lambda: _core.run_load(text, kill))[0])
    assert killed
    assert not report["complete"]
    assert {error["kind"] for error in report["errors"]} == {"unreachable"}, report["errors"]
    with pytest.raises(_core.RunError, match="mount"):
        load(testbed, ["stat"])
    testbed.restart("ganesha")
    testbed.server.run("rm", "-r", str(testbed.directory / "run"))
    assert load(testbed, ["write", "read"], verify="after")["complete"]


def test_there_is_just_one_server(nothing_left):
    two = standard(discover.file_system("nfs"), servers=2, clients=1)
    with pytest.raises(InputError, match="1 instance of server"):
        Testbed.up(deployment=two)


def test_a_missing_program_names_its_packages(nothing_left, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(TestbedError, match="nfs-ganesha-vfs"):
        Testbed.up()


def test_the_rate_is_that_of_the_link(nothing_left):
    """The bytes written per second do not exceed the rate of a slow link."""
    link = 20e6 / 8
    machine = {
        "adapter": {"bandwidth": "20 Mbit/s"},
        "disk": {"capacity": "1 GiB", "read_rate": "40 MB/s", "write_rate": "40 MB/s"},
    }
    declared = Deployment.model_validate(
        {
            "node": [
                {"name": "server", "roles": {"server": 1}, **machine},
                {"name": "client", "roles": {"client": 1}, **machine},
            ],
            "tolerance": 0.9,
        }
    )
    with Testbed.up(deployment=declared) as testbed:
        changes = {
            "file_size": {"fixed": 2**20},
            "transfer_size_bytes": 2**20,
            "operations_per_client": 5,
            "files_per_client": 1,
        }
        report = load(testbed, ["write"], changes)
        assert report["complete"], report["errors"]
        assert 0.1 * link < report["throughput_bytes_per_s"] < 1.02 * link
