"""Tests of models that predict the replay of a trace. The model executes the operations of the
trace in their order. The cost of an operation depends on the operations before it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from dfslab import _core, discover
from dfslab.documents.net_run import LogMonitor
from dfslab.imports.formats.recorded import RECORDED
from dfslab.imports.formats.recorded import stream as recorded
from dfslab.models import petri
from dfslab.models.compiled.net_job import BEGINS, ENTERING
from dfslab.models.phase_stream import streams
from dfslab.models.tree.prediction import Situation
from dfslab.nets.inscription import text
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario
from dfslab.spec.steps import calls
from dfslab.spec.steps.calls import ClassifiedCall, ExecutedOperation
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.stream import stream_spec
from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.streams.vocabulary import OPERATIONS

BLOCK, FILE = 65536, 4 << 20
DXT = """
# DXT, file_id: 1515, file_name: /scratch/file
 X_POSIX       0  write        0               0       262144      0.0000      0.0032
 X_POSIX       0   read        0               0        65536      0.2000      0.2020
 X_POSIX       0   read        0         131072        65536      0.4500      0.4600
"""


def hybrid(path: Path, clients: int = 2, count: int = 60, seed: int = 7) -> Path:
    """Writes a trace file and returns its path. The trace has the hybrid workload of Nguyen and
    Apon 2012: sequential reads, random reads and writes."""
    chance, rows = random.Random(seed), []
    for client in range(clients):
        reported: list[tuple[str, int, int]] = [("open", 0, 0)]
        at = 0
        for _ in range(count):
            if chance.random() < 0.5:
                reported.append(("pread", BLOCK, at))
                at = (at + BLOCK) % FILE
            elif chance.random() < 0.6:
                reported.append(("pread", 4096, chance.randrange(FILE // 4096) * 4096))
            else:
                reported.append(("pwrite", 8192, chance.randrange(FILE // 8192) * 8192))
        reported += [("fsync", 0, 0), ("close", 0, 0)]
        rows += [
            RECORDED.pack(client, OPERATIONS.index(kind), index, 0, size, BLOCK, at, client, 0, 0)
            for index, (kind, size, at) in enumerate(reported)
        ]
    path.write_bytes(b"".join(rows))
    return path


def scenario(trace: Path, methods=("petri",), system="local", nodes=None, **workload) -> Scenario:
    """Returns a scenario that replays a trace on a file system. By default each role has a separate
    node."""
    roles = discover.file_system(system).roles
    nodes = nodes or [
        {"name": r.name, "count": r.instances, "cores": 8, "roles": {r.name: 1}} for r in roles
    ]
    return build(
        Scenario,
        {
            "name": "traced",
            "deployment": {"node": nodes},
            "file_system": {"name": system},
            "workload": {
                "name": "replay",
                "form": "recorded",
                "trace": str(trace),
                "clients": 2,
                **workload,
            },
            "run": {"methods": list(methods), "repetitions": 1},
        },
    )


def predicted(given: Scenario, method: str = "petri"):
    """Returns a model's prediction of a scenario's only configuration."""
    return discover.method(method).run(Point(scenario=given, labels={}))


def test_an_operation_means_what_came_before_it():
    reported = [
        (0, "open", 0, 0),
        (0, "pread", 0, 100),
        (0, "pread", 100, 50),
        (0, "pwrite", 900, 100),
        (1, "pread", 0, 10),
        (0, "fsync", 0, 0),
        (0, "pwrite", 1000, 7),
        (0, "close", 0, 0),
        (0, "close", 0, 0),
    ]
    trace = [ExecutedOperation(client, kind, 0, 0, at, size) for client, kind, at, size in reported]
    assert list(calls.followed(trace)) == [
        ClassifiedCall(1007),
        ClassifiedCall(100),
        ClassifiedCall(50),
        ClassifiedCall(100, scattered=True),
        ClassifiedCall(10),
        ClassifiedCall(100),
        ClassifiedCall(7),
        ClassifiedCall(7, unforced=True),
        ClassifiedCall(1007),
    ]


@pytest.mark.parametrize("name", sorted(discover.members(discover.FILE_SYSTEMS)))
def test_every_description_gives_the_calls_of_a_trace(name):
    system = discover.file_system(name)
    assert {"open", "pread", "pwrite", "close"} <= set(system.trees)
    for operation, tree in system.operations.items():
        assert system.trees[operation] is tree
    assert calls.taken_as(system.operations, ["exists", "read"]) == (
        "taken for described operations: exists as stat"
    )


@pytest.mark.parametrize("system", ["local", "glusterfs", "pvfs", "nfs"])
def test_nets_and_formulas_of_a_trace_agree_where_nobody_waits(tmp_path, system):
    """The net and the formula give the same latencies for the replay of a trace if nothing waits.
    Here the trace is replayed by one client, and all service times are fixed."""
    trace = hybrid(tmp_path / "one", clients=1)
    situation = Situation(scenario(trace, system=system, clients=1))
    constants = situation.constants
    found = petri.simulate(situation, constants, service="deterministic")
    costs = situation.costs(constants)
    assert found.operations == found.offered == 63
    assert set(found.latency_s) == set(situation.mix) == set(costs)
    for kind, latency_s in found.latency_s.items():
        # Half of the reads are random. The net chooses at random which reads these are. The mean
        # latency in the net therefore differs a little from the latency by the formula.
        assert latency_s == pytest.approx(costs[kind].latency_s, rel=0.02, abs=2e-6), kind


def test_net_and_real_target_do_the_same_operations(tmp_path):
    """A run on a real target recorded its operations. The clients of the net start the same
    operations in the same order."""
    nodes = [{"name": "here", "roles": {"client": 1, "storage": 1}}]
    given = scenario(hybrid(tmp_path / "trace"), nodes=nodes)
    target = PosixTarget(root=str(tmp_path))
    plan = LoadPlan(stream=stream_spec(given), target=target, run_directory="run", record=True)
    _, _, done = _core.run_load(plan.text)
    real = [tuple(one.model_dump().values()) for one in recorded(done).given]
    situation = Situation(given)
    stream = streams(stream_spec(given), 100, 2)
    net, _ = petri.job_of(situation, situation.constants, stream).net("traced", 2, stream)
    log = LogMonitor(transition=BEGINS, fields=list(map(text, ENTERING)), limit=10_000)
    (report,) = petri.fire(net, {"begins": log}, seed=1, replications=1)
    names = document_kinds(situation)
    begun = [
        dict(zip([one.label for one in ENTERING], values, strict=True))
        for _, values in report.logs["begins"].rows
    ]
    fired = [
        (
            int(one["client"]),
            names[int(one["kind"])],
            int(one["file"]),
            int(one["size"]),
            int(one["offset"]),
            int(one["owner"]),
        )
        for one in begun
    ]
    assert len(real) == len(fired) == 2 * 63
    for client in (0, 1):
        assert [one for one in fired if one[0] == client] == [
            one for one in real if one[0] == client
        ]


def document_kinds(situation: Situation) -> list[str]:
    """Returns the operation types of a workload. A token refers to a type by its position in this
    list."""
    return sorted(situation.mix)


def test_jumps_cost_a_disk_more_than_runs(tmp_path):
    """Random reads of many transfer units on GlusterFS take longer than sequential reads. Each
    random read is a separate request."""
    given = scenario(hybrid(tmp_path / "trace"), system="glusterfs", cache="cold")
    trace = Situation(given).trace
    assert trace is not None
    shares = {(kind, sort.scattered): 0.0 for kind, sorts in trace.sorts.items() for sort in sorts}
    for kind, sorts in trace.sorts.items():
        for sort in sorts:
            shares[kind, sort.scattered] += sort.share
    assert shares["pread", 0.0] + shares["pread", 1.0] == pytest.approx(1)
    assert 0.2 < shares["pread", 1.0] < 0.8
    reported = Situation(given)
    constants = reported.constants
    tree, values = (
        reported.system.trees["pread"],
        {**reported.environment, **constants, "kept": 0.0},
    )
    latency = {
        scattered: reported.reader(
            {**values, "file_size": float(16 * BLOCK), "scattered": scattered}
        )
        .read(tree)
        .latency_s
        for scattered in (0.0, 1.0)
    }
    assert latency[0.0] < latency[1.0]


def test_at_a_traces_times_nothing_begins_early(tmp_path):
    path = tmp_path / "dxt"
    path.write_text(DXT)
    at_times = {"form": "dxt", "clients": 1, "rate_factor": 2.0}
    found = predicted(scenario(path, **at_times))
    # The replay takes 0.225 s: the last operation of the trace is scheduled at 0.45 s, and the
    # trace is replayed at twice its speed.
    count = len(stream_spec(scenario(path, **at_times)).given)
    assert count / found.value("rate_per_s") == pytest.approx(0.225, rel=0.02)
    closed = predicted(scenario(path, form="dxt", clients=1))
    assert closed.value("rate_per_s") > 10 * found.value("rate_per_s")
    with pytest.raises(
        InputError, match=r"rate_factor.*only components, petri .* without sequence it runs"
    ):
        check(scenario(path, ["petri", "sequence"], **at_times))
    two = predicted(scenario(path, **(at_times | {"clients": 2, "trace_clients": 2})))
    assert count / two.value("rate_per_s") == pytest.approx(0.225, rel=0.02)


def test_what_no_description_has_is_refused_by_name(tmp_path):
    trace = hybrid(tmp_path / "trace")
    with pytest.raises(InputError, match=r"workload\.name = 'replay': cephfs describes no fsync"):
        check(scenario(trace, system="cephfs"))
    with pytest.raises(InputError, match="trace"):
        check(scenario(tmp_path / "none"))


@pytest.mark.parametrize("method", ["petri", "sequence"])
def test_a_mapped_call_is_reported(tmp_path, method):
    rows = [
        RECORDED.pack(0, OPERATIONS.index(kind), index, index, 0, 1, 0, 0, 0, 0)
        for index, kind in enumerate(("mkdir", "exists", "create"))
    ]
    (tmp_path / "trace").write_bytes(b"".join(rows))
    found = predicted(scenario(tmp_path / "trace", clients=1), method)
    assert any("mkdir as create" in note and "exists as stat" in note for note in found.notes)
    assert json.loads(found.model_dump_json())["metrics"]["rate_per_s"]["value"] > 0
