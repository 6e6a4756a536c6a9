"""Tests that the load generator's input has the recorded JSON text, which the Rust core reads.
Three kinds of input are tested: targets (how a file system is reached), layers (faults and limits
that are applied to each call), and a whole plan."""

from __future__ import annotations

import pytest
from dfslab import discover
from dfslab.instruments import access, measure
from dfslab.spec.environment import parameters
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.layer import Layer
from dfslab.spec.systems.endpoint import Endpoint
from support.measuring import measure_once

SYSTEMS = {name: discover.file_system(name) for name in discover.members(discover.FILE_SYSTEMS)}
MOUNTED = [name for name, system in SYSTEMS.items() if "uri" not in system.access_keys]
POSIX = (
    '{"kind": "posix", "root": "DIR", "mmap": %s, "sync_io": "%s", "direct": %s, "fsync": "%s", '
    '"drop_caches": "none"}'
)
WAYS = (
    ({}, ("false", "none", "false", "never")),
    ({"cache": "direct"}, ("false", "none", "true", "never")),
    ({"fsync": True}, ("false", "none", "false", "close")),
    ({"fsync": "write"}, ("false", "none", "false", "write")),
    ({"mmap": True}, ("true", "none", "false", "never")),
    ({"sync_io": "data"}, ("false", "data", "false", "never")),
)
ELSEWHERE = (
    (
        "hdfs",
        Endpoint(uri="hdfs://h:8020"),
        '{"kind": "hdfs", "uri": "hdfs://h:8020", "root": "/", "replication": 3, '
        '"block_size_bytes": 134217728, "shared_client": false}',
    ),
    (
        "hdfs",
        Endpoint(uri="hdfs://h:8020", directory="/d", shared_client=True),
        '{"kind": "hdfs", "uri": "hdfs://h:8020", "root": "/d", "replication": 3, '
        '"block_size_bytes": 134217728, "shared_client": true}',
    ),
    (
        "s3",
        Endpoint(uri="s3://b/p?endpoint=http://h:9000"),
        '{"kind": "opendal", "uri": "s3://b/p?endpoint=http://h:9000", "root": "/", '
        '"part_size_bytes": 8388608, "shared_client": false}',
    ),
    (
        "nfs",
        Endpoint(server="10.0.0.1", export="/e"),
        '{"kind": "nfs", "server": "10.0.0.1", "export": "/e"}',
    ),
)
LAYERS = (
    (
        {"kind": "throttle", "rate": "100 /s", "bandwidth": "1 MB/s"},
        '{"throttle": {"calls_per_s": 100.0, "bytes_per_s": 1000000.0}}',
    ),
    ({"kind": "throttle", "rate": "100 /s"}, '{"throttle": {"calls_per_s": 100.0}}'),
    ({"kind": "timeout", "time": "1 s"}, '{"timeout": {"after_s": 1.0}}'),
    ({"kind": "fault", "share": 0.5}, '{"fault": {"probability": 0.5}}'),
    (
        {"kind": "stall", "time": "1 s", "period": "2 s"},
        '{"stall": {"length_s": 1.0, "period_s": 2.0}}',
    ),
    ({"kind": "delay", "time": "3 ms"}, '{"delay": {"by_s": 0.003}}'),
)
PLAN = (
    '{"stream": {"seed": 1, "clients": 2, "operations_per_client": 4, "files_per_client": 4, '
    '"mix": [{"operation": "read", "weight": 1.0}], "file_size": {"fixed": 4096}, '
    '"transfer_size_bytes": 131072, "file_choice": "sequential", "think_time_s": 0.0}, '
    f'"target": {POSIX % WAYS[0][1]}, "run_directory": "RUN", "verify": "sample", '
    '"time_limit_s": 60.0, "max_errors": 4611686018427387904, '
    '"layers": [{"timeout": {"after_s": 1.0}}], "record": false, "barrier_after_phases": false'
)


def scenario(name: str, workload: dict, run: dict | None = None, **how: str) -> Scenario:
    """Returns a scenario in which clients read whole files, with six nodes of each data role and
    one node of every other role. `workload` and `run` have further keys of these tables, and `how`
    has the keys of the access."""
    nodes = [
        {"name": one.name, "count": 6 if one.kind == "data" else 1, "roles": {one.name: 1}}
        for one in SYSTEMS[name].roles
    ]
    table = {
        "name": "plan",
        "deployment": {"node": nodes},
        "file_system": {"name": name, "access": how},
        "workload": {"name": "sequential_read", **workload},
        "run": {"methods": ["measure"], **(run or {})},
    }
    return build(Scenario, table)


@pytest.mark.parametrize("name", MOUNTED)
@pytest.mark.parametrize(("workload", "values"), WAYS)
def test_a_mounted_file_system_is_called_as_recorded(name, workload, values, tmp_path):
    with access.session() as session:
        target = session.target(scenario(name, workload, directory=str(tmp_path)))
    assert target.text.replace(str(tmp_path), "DIR") == POSIX % values


@pytest.mark.parametrize(("name", "endpoint", "text"), ELSEWHERE)
def test_other_file_systems_are_called_as_recorded(name, endpoint, text):
    system = SYSTEMS[name]
    found = system.target(endpoint, parameters(scenario(name, {}, uri=endpoint.uri), system))
    assert found.text == text


@pytest.mark.parametrize(("table", "text"), LAYERS)
def test_a_layer_has_the_recorded_text(table, text):
    assert build(Layer, table).plan().text == text


@pytest.mark.parametrize(
    ("processes", "ends"),
    [
        (0, ["}"]),
        (
            2,
            [
                ', "shared": true, "clients_from": 0, "clients_to": 1}',
                ', "shared": true, "clients_from": 1, "clients_to": 2}',
            ],
        ),
    ],
)
def test_a_plan_reaches_the_core_as_recorded(processes, ends, tmp_path, monkeypatch):
    workload = {
        "clients": 2,
        "processes": processes,
        "operations_per_client": 4,
        "file_size": "4 KiB",
    }
    run = {"layer": [{"kind": "timeout", "time": "1 s"}]}
    given = scenario("local", workload, run, directory=str(tmp_path))
    texts = []

    def run_load(plan, places, *more):
        shards = [plan]
        if len(places) > 1:
            whole = plan.model_copy(update={"shared": True})
            shards = [whole.shard(range(number, number + 1)) for number in range(len(places))]
        texts.extend(
            one.text.replace(str(tmp_path), "DIR").replace(plan.run_directory, "RUN")
            for one in shards
        )
        raise measure.LoadFailed("only its plan is wanted")

    monkeypatch.setattr(measure.fleet, "run_load", run_load)
    with pytest.raises(measure.RunFailed, match="only its plan"):
        measure_once(given.points()[0])
    assert texts == [PLAN + end for end in ends]
