"""Tests that the Petri net and the formula of a description give equal latency, up to rounding, if
service times are fixed and nothing waits for a resource."""

from __future__ import annotations

import pytest
from dfslab import discover
from dfslab.documents.net_run import LogMonitor
from dfslab.models.compiled.net_amount import MOST_UNITS
from dfslab.models.compiled.net_job import BEGINS, NetJob
from dfslab.models.petri import fire
from dfslab.models.tree.costs import station_bound_s
from dfslab.models.tree.placement import Placement
from dfslab.models.tree.prediction import Situation
from dfslab.models.tree.reader import TreeReader
from dfslab.spec.deployment import Deployment
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps import operation as op
from support.operations import planned

OPERATIONS = ("read", "write", "append", "create", "stat", "list", "rename", "delete")
# Every test case as (file system, operation), for operations that transfer file data.
MOVING = [
    (system, operation)
    for system in discover.members(discover.FILE_SYSTEMS)
    for operation in ("read", "write", "append")
    if operation in discover.file_system(system).operations
]
# Nodes with many cores, so that pipeline stages on one machine do not compete for them.
ROOMY = {"cores": 32, "adapter": {"bandwidth": "1 Gbit/s"}}
BARE = {"loopback_latency": 1e-5, "network_latency": 1e-4, "file_size": 1.0}
# The net rounds times to nanoseconds, which is an error of half a nanosecond at each of at most
# 1000 steps.
ROUNDING_S = 1000 * 0.5e-9


def situation(system, apart, size="1 MiB", **parameters):
    """Returns the situation (deployment, file system and workload) of one client, with each role on
    its own node or all on one."""
    roles = discover.file_system(system).roles
    nodes = [{"name": r.name, "count": r.instances, "roles": {r.name: 1}, **ROOMY} for r in roles]
    if not apart:
        nodes = [{"name": "one", "roles": {r.name: r.instances for r in roles}, **ROOMY}]
    return Situation(
        build(
            Scenario,
            {
                "name": "exact",
                "deployment": {"node": nodes},
                "file_system": {"name": system, **parameters},
                "workload": {"name": "sequential_read", "file_size": size},
            },
        )
    )


def both(given, operation, units=MOST_UNITS, sized=False):
    """Returns three results for one operation of one client: its latency in the net, the latency of
    each step in the net by name, and the cost by the formula. Both latencies are means over three
    operations, in seconds.

    The net simulates at most `units` units of a pipeline. If `sized` is true, its tokens carry the
    file size.
    """
    calibrated = given.system.parameters.of_origin("calibrated")
    values = {**given.environment, **{key: p.default for key, p in calibrated.items()}}
    tree = given.system.operations[operation]
    # Deferred work is left out of the net (`written_back` = 0), because it would compete with the
    # next operation.
    job = NetJob(
        {operation: tree},
        given.placement,
        values,
        given.client,
        written_back=0.0,
        service="deterministic",
        sized=sized,
        most_units=units,
    )
    size = int(values["file_size"])
    stream = [planned(0, index, operation, index, size, 131072) for index in range(3)]
    net, watched = job.net("exact", 1, stream)
    (report,) = fire(net, seed=3, replications=1)
    assert report.reason == "dead"
    whole = report.sojourns[watched.spans[operation]]
    assert whole.count == 3
    cost = TreeReader(given.placement, values, given.client, 1.0).read(tree)
    steps = {}
    for name, (_, step) in watched.steps.items():
        span = report.sojourns[name]
        steps[step] = steps.get(step, 0.0) + span.mean_s * span.count / 3
    return whole.mean_s, steps, cost


@pytest.mark.grid
@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("system", ["local", "hdfs", "glusterfs"])
def test_latency_and_steps_are_the_formulas(system, operation, apart):
    latency, steps, cost = both(situation(system, apart), operation)
    assert latency == pytest.approx(cost.latency_s, abs=ROUNDING_S)
    # The net times only the outermost steps of an operation. The formula also times the steps
    # within them.
    assert set(steps) == {path for path in cost.steps if path.is_outermost}
    for step, found in steps.items():
        assert found == pytest.approx(cost.steps[step].latency_s, abs=ROUNDING_S)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_copies_wait_for_each_other_only_at_adapters_they_share(operation):
    """The latency of the net differs from that of the formula only by waits at shared adapters. The
    formula lets the copies of a write overlap completely, while in the net the messages of the
    copies queue at an adapter that they share."""
    for layout in ({"copies": 2}, {"copies": 3}, {"copies": 3, "data_fragments": 2}):
        given = situation("glusterfs", True, **layout)
        # With page-cache hits, some reads of the client would send no messages. The share of hits
        # (`kept`) is therefore set to 0.
        given.environment["kept"] = 0.0
        latency, _, cost = both(given, operation)
        shared = sum(d for s, d in cost.demands.items() if s.kind in ("nic.in", "nic.out"))
        # The latencies in the net and in the formula may differ by the time of the messages at the
        # adapter that the copies share.
        assert cost.latency_s * 0.999 - ROUNDING_S <= latency <= cost.latency_s + shared


@pytest.mark.parametrize("most", [16, 32, 64])
def test_gathering_units_costs_what_the_docstring_says(most):
    """Simulating the units of a pipeline in groups of g adds (g - 1) (L - c) to the latency. L is
    the time of one unit through all stages, and c is the time of one unit in the slowest stage."""
    nodes = [{"name": name, "roles": {name: 1}, **ROOMY} for name in ("client", "first", "second")]
    placement = Placement(build(Deployment, {"node": nodes}))
    values = {**BARE}
    for role in ("client", "first", "second"):
        values |= {
            f"{role}.nic_bandwidth": 1.25e8,
            f"{role}.nic_latency": 0.0,
            f"{role}.frequency": 2.5e9,
        }
    units, size = 512, 65536
    tree = op.pipeline(
        units,
        op.cpu("client", 1e-4),
        op.send("first", "one", op.cpu("first", 3e-4), size_bytes=size),
        op.send("second", "two", op.cpu("second", 2e-4), size_bytes=size),
    )
    cost = TreeReader(placement, values).read(tree)
    wire = size / 1.25e8
    alone = 1e-4 + 3e-4 + 2e-4 + 2 * wire
    for gathered, extra in ((most, (units / most - 1) * (alone - wire)), (units, 0.0)):
        job = NetJob(
            {"write": tree}, placement, values, service="deterministic", most_units=gathered
        )
        net, watched = job.net("gathered", 1, [planned(0, 0, "write", 0, 1, 1)])
        (report,) = fire(net, seed=1, replications=1)
        found = report.sojourns[watched.spans["write"]].mean_s
        assert found == pytest.approx(cost.latency_s + extra, abs=units * 1e-9)


@pytest.mark.grid
@pytest.mark.parametrize(("system", "operation"), MOVING)
def test_a_size_on_the_token_means_what_a_constant_size_means(system, operation):
    """A file size that the token carries gives the same latency as a file size that is a constant
    of the net.

    Nets for streams of files of different sizes carry the size on the token.
    """
    for size in ("0 B", "100 kB", "1 MiB", "300 MiB"):
        if size == "0 B" and operation != "append":
            continue
        given = situation(system, True, size="1 B" if size == "0 B" else size)
        folded, _, _ = both(given, operation)
        carried, _, _ = both(given, operation, sized=True)
        assert carried == pytest.approx(folded, rel=1e-6, abs=ROUNDING_S)


def test_a_quorum_goes_on_without_the_slowest():
    nodes = [{"name": "one", "cores": 8, "roles": {"client": 1}}]
    placement = Placement(build(Deployment, {"node": nodes}))
    slow, fast = op.cpu("client", 5.0), op.cpu("client", 1.0)
    for needed, latency in ((1, 1.0), (2, 1.0), (3, 5.0)):
        tree = op.quorum(needed, fast, slow, fast)
        job = NetJob(
            {"write": tree}, placement, {**BARE, "client.frequency": 2.5e9}, service="deterministic"
        )
        stream = [planned(0, index, "write", 0, 1, 1) for index in range(2)]
        net, watched = job.net("quorum", 1, stream)
        (report,) = fire(net, seed=1, replications=1)
        assert report.sojourns[watched.spans["write"]].mean_s == pytest.approx(latency, abs=1e-9)


def test_a_held_thread_lets_in_as_many_as_there_are():
    """Each of four clients holds one of two threads for one second. Therefore two clients finish
    after one second, and the other two after two seconds."""
    nodes = [{"name": "one", "cores": 8, "roles": {"client": 1}}]
    placement = Placement(build(Deployment, {"node": nodes}))
    tree = op.hold_thread("client", 2, op.delay("client", 1.0))
    job = NetJob({"stat": tree}, placement, BARE, service="deterministic")
    net, watched = job.net("threads", 4, [planned(c, 0, "stat", 0, 0, 1) for c in range(4)])
    (report,) = fire(net, seed=1, replications=1)
    assert report.end_time_ns == 2_000_000_000
    assert report.sojourns[watched.spans["stat"]].mean_s == pytest.approx(1.5)


def test_later_work_is_not_waited_for_but_occupies_its_station():
    nodes = [{"name": "one", "roles": {"client": 1}}]
    placement = Placement(build(Deployment, {"node": nodes}))
    tree = op.seq(op.delay("client", 1.0), op.later(op.disk_write("client", 3e6)))
    for share in (1.0, 0.5, 0.0):
        disk = {"client.disk_write_rate": 1e6, "client.disk_latency": 0.0}
        job = NetJob(
            {"write": tree},
            placement,
            {**BARE, **disk},
            written_back=share,
            service="deterministic",
        )
        stream = [planned(0, index, "write", 0, 1, 1) for index in range(4)]
        net, watched = job.net("later", 1, stream)
        (report,) = fire(net, seed=1, replications=1)
        assert report.sojourns[watched.spans["write"]].mean_s == pytest.approx(1.0)
        # The first deferred write starts after one second. Each of the four deferred writes
        # occupies the disk for 3 s multiplied by `share`.
        assert report.end_time_ns / 1e9 == pytest.approx(max(4.0, 1.0 + 12.0 * share))


def test_the_busiest_station_bounds_a_pipeline():
    """A pipeline whose stages share one core takes for each unit the sum of the stages' demands,
    because the bottleneck is the core and not a single stage."""
    nodes = [{"name": "one", "cores": 1, "roles": {"client": 1}}]
    placement = Placement(build(Deployment, {"node": nodes}))
    tree = op.pipeline(50, op.cpu("client", 0.2), op.cpu("client", 0.3))
    job = NetJob(
        {"read": tree}, placement, {**BARE, "client.frequency": 2.5e9}, service="deterministic"
    )
    net, watched = job.net("shared", 1, [planned(0, 0, "read", 0, 1, 1)])
    (report,) = fire(net, seed=1, replications=1)
    cost = TreeReader(placement, {**BARE, "client.frequency": 2.5e9}).read(tree)
    assert report.end_time_ns / 1e9 == pytest.approx(station_bound_s(cost.demands))


def test_a_stage_of_one_client_is_no_help_to_another():
    """A pipeline of one client is served only by the threads of this client. A second, idle client
    does not make the pipeline faster."""
    nodes = [{"name": "one", "cores": 8, "roles": {"client": 1}}]
    placement = Placement(build(Deployment, {"node": nodes}))
    tree = op.pipeline(10, op.delay("client", 0.1), op.delay("client", 0.3))
    job = NetJob({"read": tree}, placement, BARE, service="deterministic")
    net, watched = job.net("threads", 2, [planned(0, 0, "read", 0, 1, 1)])
    (report,) = fire(net, seed=1, replications=1)
    assert report.end_time_ns == 3_100_000_000


def test_every_client_takes_its_own_operations():
    nodes = [{"name": "one", "cores": 8, "roles": {"client": 1}}]
    placement = Placement(build(Deployment, {"node": nodes}))
    job = NetJob(
        {"stat": op.cpu("client", 1.0)},
        placement,
        {**BARE, "client.frequency": 2.5e9},
        service="exponential",
    )
    stream = [planned(c, index, "stat", 0, 0, 1) for index in range(20) for c in range(3)]
    net, _ = job.net("own", 3, stream)
    fields = ["a.client", "b.client", "b.index"]
    log = LogMonitor(transition=BEGINS, fields=fields, limit=100)
    (report,) = fire(net, {"begins": log}, seed=1, replications=1)
    rows = [values for _, values in report.logs["begins"].rows]
    assert len(rows) == 60
    assert all(taker == owner for taker, owner, _ in rows)
    for client in range(3):
        assert [index for _, owner, index in rows if owner == client] == list(range(20))
    assert [owner for _, owner, _ in rows] != [client for client, *_ in stream]
