"""Tests of open workloads, phases and access patterns. The workloads are given by Python code or by
scenarios, and run by one or several agents."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from dfslab import _core
from dfslab.documents.load_report import LoadReport
from dfslab.documents.measured_load import FleetLoadReport
from dfslab.fleet import run
from dfslab.fleet.client_hosts import ClientHost
from dfslab.instruments import access
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.streams.plan import LoadPlan, PeriodicStall, PlanLayer, SpanLimit
from dfslab.spec.streams.stream import operations_per_client, stream_spec
from dfslab.spec.streams.target import NullTarget, PosixTarget
from dfslab.spec.streams.vocabulary import OPERATIONS, Neighbour, Stream
from dfslab.spec.systems.choice import FileSystemChoice
from support.measuring import measure_once
from support.rows import span_rows
from support.synthetic import scenario, without_times

TWO = (ClientHost("left"), ClientHost("right"))
PERIOD_S, LENGTH_S = 2.0, 0.5
# TRUTHS has the true quantiles and the true mean of the response times. A request that arrives
# during a stall takes the time until the end of the stall. Any other request takes no time.
SHARE, QUANTILES = LENGTH_S / PERIOD_S, {"p90_s": 0.9, "p99_s": 0.99, "p999_s": 0.999}
TRUTHS = {name: LENGTH_S * (q - (1 - SHARE)) / SHARE for name, q in QUANTILES.items()}
TRUTHS["mean_s"] = LENGTH_S * SHARE / 2


def base(**changes) -> dict:
    return {
        "seed": 3,
        "clients": 2,
        "file_size": {"fixed": 20_000},
        "transfer_size_bytes": 4096,
        **changes,
    }


def everything() -> dict:
    """Returns a stream specification that uses every key."""
    # The mix has no rename. If a client renames a file, other clients do not learn of it and would
    # read the file by its old name.
    mix = [{"operation": name, "weight": 1.0} for name in OPERATIONS if name != "rename"]
    mix[0] |= {"access": {"order": {"strided": 3}, "reopen": True}, "fsync": False}
    mix[1] |= {"file_choice": "newest", "think_time_s": 0.001}
    phases = [
        {"name": "all", "operations_per_client": 60, "mix": mix, "file_choice": {"zipf": 1.1}},
        {
            "operations_per_client": 5,
            "mix": [{"operation": "read"}],
            "files": {"neighbour": 1},
            "access": {
                "order": {"skip": 100},
                "transfers_per_operation": 3,
                "transfer_size": {"uniform": {"low": 1, "high": 4096}},
            },
        },
        {
            "operations_per_client": 5,
            "mix": [{"operation": "pread"}],
            "files": "shared",
            "mix_order": "cycle",
        },
    ]
    return base(
        phases=phases,
        files_per_client=30,
        layout={"depth": 1, "branches": 2},
        arrival={
            "open": {
                "rate_per_s": 5000.0,
                "process": {"lognormal": 0.5},
                "profile": [[0.0, 0.5], [0.01, 1.0]],
                "session": {"requests": 3.0, "think_time_s": 0.0001},
            }
        },
        file_size={"gamma": {"mean": 20000.0, "shape": 2.0, "max": 100_000}},
        compressible=0.5,
    )


def test_the_twin_says_what_the_core_understands(tmp_path):
    spec = build(Stream, everything(), "stream")
    assert spec.phases[1].files == Neighbour(neighbour=1)
    assert operations_per_client(spec) == 70
    target = PosixTarget(root=str(tmp_path))
    plan = LoadPlan(stream=spec, target=target, run_directory="r", record=True)
    report, _, recorded = _core.run_load(plan.text)
    outcome = json.loads(report)
    assert outcome["complete"], outcome["errors"]
    assert [phase["count"] for phase in outcome["phases"]] == [120, 10, 10]
    assert without_times(recorded) == b"".join(
        _core.stream_bytes(spec.text, client) for client in (0, 1)
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"mix": [{"operation": "sing"}]}, "stream.mix.0.operation"),
        ({"clients": 0}, "stream.clients"),
        ({"surprise": 1}, "stream.surprise"),
        ({"access": {"order": "sideways"}}, "stream.access.order = 'sideways'"),
        ({"file_size": {}}, "stream.file_size = {}: needs exactly one of fixed, uniform"),
        ({"file_size": {"fixed": 1, "uniform": {"low": 1, "high": 2}}}, "needs exactly one of"),
        ({"arrival": {"open": {"rate_per_s": 0}}}, "stream.arrival"),
    ],
)
def test_what_the_twin_does_not_know_is_an_input_error(changes, key):
    with pytest.raises(InputError, match=key):
        build(Stream, base(**changes), "stream")


def test_a_word_that_a_target_cannot_do_is_refused_before_anything_is_made():
    mix = [{"operation": "lock"}]
    stream = base(mix=mix, operations_per_client=1, files_per_client=1)
    target = {
        "kind": "hdfs",
        "uri": "hdfs://127.0.0.1:1",
        "replication": 1,
        "block_size_bytes": 1 << 20,
    }
    plan = {"stream": stream, "target": target, "run_directory": "r"}
    with pytest.raises(_core.InputError, match="target hdfs cannot lock"):
        _core.run_load(json.dumps(plan))


def stalled(seed: int) -> LoadPlan:
    """Returns a plan of 1000 requests per second to a target that stalls for the last 0.5 s of
    every 2 s."""
    stream = base(
        mix=[{"operation": "stat"}],
        operations_per_client=500,
        files_per_client=1,
        clients=8,
        arrival={"open": {"rate_per_s": 1000.0}},
        seed=seed,
    )
    return LoadPlan(
        stream=build(Stream, stream, "stream"),
        target=NullTarget(),
        run_directory="r",
        layers=[PlanLayer(stall=PeriodicStall(period_s=PERIOD_S, length_s=LENGTH_S))],
        spans=SpanLimit(limit=8000),
    )


def dues_and_ends(report: LoadReport, spans: list) -> list[tuple[float, float]]:
    """Returns (scheduled start, end) of each request. Both times are in seconds after the start of
    the run, which is the same moment for all agents.

    Each agent records the start of the run on its own clock. The start is therefore computed for
    each client from the client's first operation.
    """
    times = []
    for client in report.per_client:
        number = client.client
        its = [span[1:3] for span in spans if span[5] == number and span[4] == 0]
        zero_ns = its[0][0] - client.first_start_s * 1e9
        times += [
            ((8 * turn + number) * 1e-3, (end_ns - zero_ns) * 1e-9)
            for turn, (_, end_ns) in enumerate(its)
        ]
    return times


def released(due_s: float) -> float:
    """Returns the time at which the target answers a request that arrives at `due_s`. The target
    takes no time except during stalls. Both times are in seconds after the start."""
    period, within_s = divmod(due_s + 1e-9, PERIOD_S)
    return (period + 1) * PERIOD_S if within_s >= PERIOD_S - LENGTH_S else due_s


def assert_more_only_by_lateness(report: FleetLoadReport, spans: list) -> None:
    """Asserts that only delays of the machine make response times longer than the stalls imply.

    The delay of each response is computed from the recorded end of the request. If a busy machine
    delays the end, the response time is longer by the same delay. The assertion therefore holds on
    a machine of any speed.
    """
    response = report.operations["stat"].response
    assert report.complete
    assert response.count == 4000
    assert len(report.places) == 2
    times = dues_and_ends(report, spans)
    assert len(times) == 4000
    added = [end - released(due) for due, end in times]
    # Spans have Unix times in ns as double-precision numbers, which rounds the times by less than a
    # microsecond.
    assert min(added) > -5e-6
    more_s = sum(added) / len(added)
    print(f"the machine added {more_s} s, at most {max(added)} s")
    assert response.mean_s == pytest.approx(TRUTHS["mean_s"] + more_s, rel=0.01)
    exact = sorted(end - due for due, end in times)
    observed = response.model_dump()
    for name, q in QUANTILES.items():
        truth = TRUTHS[name]
        assert observed[name] == pytest.approx(exact[math.ceil(q * 4000) - 1], rel=0.005)
        assert 0.99 * truth <= observed[name] <= 1.01 * truth + max(added)


def test_two_agents_tell_the_truth_of_a_stall_and_lose_no_sample():
    """Two agents send requests to a target that stalls periodically. Only delays of the machine
    make the measured response times longer than the stalls imply (TRUTHS). No request is missing.

    This test allows any delay of the machine. `make bench-stall` measures the delay of the load
    generator itself.
    """
    report, spans, _ = run.run_load(stalled(seed=3), TWO)
    assert_more_only_by_lateness(report, span_rows(spans))


def test_phases_begin_together_in_two_places(tmp_path):
    phases = [
        {"name": "write", "operations_per_client": 8, "mix": [{"operation": "write"}]},
        {
            "name": "read",
            "operations_per_client": 8,
            "mix": [{"operation": "read"}],
            "files": {"neighbour": 2},
        },
    ]
    wanted = LoadPlan(
        stream=build(Stream, base(clients=4, phases=phases), "stream"),
        target=PosixTarget(root=str(tmp_path)),
        run_directory="r",
        record=True,
        verify="inline",
    )
    report, _, recorded = run.run_load(wanted, TWO)
    assert report.complete, report.errors
    assert [(phase.name, phase.count) for phase in report.phases] == [("write", 32), ("read", 32)]
    assert report.verified_bytes == report.phases[1].bytes == 32 * 20_000
    assert len(without_times(recorded)) == 64 * 56
    assert list(tmp_path.iterdir()) == []


def test_an_open_scenario_is_measured_with_response_times():
    changes = {
        "workload.arrival": "poisson",
        "workload.rate": "400 /s",
        "workload.operations_per_client": 40,
        "run.methods": ["measure"],
    }
    given = scenario(hold_out=()).with_values(changes)
    (point,) = check(given)
    assert stream_spec(given).arrival.open.process == "poisson"
    result = measure_once(point)
    operation = next(name for name in result.metrics if name.startswith("response_s_p99."))
    service = operation.replace("response", "latency")
    assert result.value(operation) >= 0.9 * result.value(service)
    assert result.load.generator.own_ns_per_op > 0
    assert result.load.seconds[0].count > 0


WAYS = {"workload.fsync": "write", "workload.sync_io": "all", "workload.mmap": True}


@pytest.mark.parametrize(("key", "value"), WAYS.items())
def test_ways_of_writing_reach_the_calls(key, value, monkeypatch):
    """The options of a scenario that decide how data are written (fsync, O_SYNC, mmap) reach the
    plan of the load generator."""
    changes = {
        key: value,
        "workload.name": "random_write",
        "workload.operations_per_client": 3,
        "run.methods": ["measure"],
        "run.verify": "after",
    }
    given = scenario(hold_out=()).with_values(changes)
    (point,) = check(given)
    reported, run_load = [], run.run_load
    monkeypatch.setattr(
        run,
        "run_load",
        lambda plan, *more, **named: (reported.append(plan), run_load(plan, *more, **named))[1],
    )
    assert measure_once(point).value("rate_per_s") > 0
    assert dict(reported[-1].target)[key.split(".")[1]] == value


@pytest.mark.parametrize("key", ["workload.sync_io", "workload.mmap"])
def test_ways_that_only_mounts_have_are_refused_elsewhere(key):
    table = scenario(hold_out=()).with_values({key: WAYS[key], "run.methods": ["measure"]})
    chosen = FileSystemChoice.model_validate({"name": "s3", "access": {"uri": "memory:///"}})
    elsewhere = table.model_copy(update={"file_system": chosen})
    with access.session() as opened, pytest.raises(InputError, match="is mounted"):
        opened.target(elsewhere)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workload.arrival": "even", "run.methods": ["measure"]}, "workload.rate.*above 0"),
        ({"workload.rate": "5 /s"}, "workload.rate"),
        ({"workload.arrival": "even", "workload.rate": "5 /s"}, "only closed loads are modelled"),
    ],
)
def test_open_scenarios_that_cannot_be_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        check(scenario(hold_out=()).with_values(changes))


def test_a_tree_of_directories_is_removed_whole(tmp_path: Path):
    """A run removes its whole tree of directories, the deepest first, and nothing else."""
    stream = base(
        mix=[{"operation": "list"}, {"operation": "create"}],
        operations_per_client=40,
        files_per_client=9,
        layout={"depth": 2, "branches": 3},
    )
    plan = {
        "stream": stream,
        "target": {"kind": "posix", "root": str(tmp_path)},
        "run_directory": "r",
    }
    outcome = json.loads(_core.run_load(json.dumps(plan))[0])
    assert outcome["complete"], outcome["errors"]
    assert list(tmp_path.iterdir()) == []
