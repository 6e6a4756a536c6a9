"""Tests of two ways to predict from one description: simulating its Petri net, and evaluating its
formula. Both ways agree wherever theory requires equal results."""

from __future__ import annotations

import struct

import pytest
from dfslab import _core, discover
from dfslab.documents.net_run import LogMonitor
from dfslab.models.compiled.net_job import BEGINS, ENTERING, NetJob
from dfslab.models.petri import fire, job_of, net_of, simulate
from dfslab.models.phase_stream import streams
from dfslab.models.queue.queueing import mean_value_analysis
from dfslab.models.tree.placement import Placement
from dfslab.models.tree.prediction import Situation
from dfslab.nets.engine import check
from dfslab.nets.inscription import text
from dfslab.spec.deployment import Deployment
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps import operation as op
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.stream import stream_spec
from dfslab.spec.streams.target import PosixTarget
from support.operations import planned
from support.steady import steady_rates_per_s
from support.synthetic import without_times

KINDS = {"read": "sequential_read", "write": "sequential_write", "append": "append"}
SYSTEMS = list(discover.members(discover.FILE_SYSTEMS))
METADATA = ("create", "stat", "list", "rename", "delete")
# Every test case as (file system, operation, whether each role is on a separate node).
DESCRIBED = [
    (system, operation)
    for system in SYSTEMS
    for operation in (*KINDS, *METADATA)
    if operation in discover.file_system(system).operations
]
CODES = ("read", "write", "append", "create", "stat", "list", "rename", "delete", "mkdir")


def situation(system, operation="read", clients=1, apart=True, **keys):
    """Returns the situation (deployment, file system and workload) of one operation, with each role
    on its own node or all on one."""
    described = discover.file_system(system)
    nodes = [{"name": r.name, "count": r.instances, "roles": {r.name: 1}} for r in described.roles]
    if not apart:
        nodes = [{"name": "one", "roles": {r.name: r.instances for r in described.roles}}]
    workload = {
        "name": KINDS.get(operation, "metadata"),
        "clients": clients,
        "operations_per_client": 12,
        **keys,
    }
    if operation in METADATA:
        workload["operation"] = operation
    return Situation(
        build(
            Scenario,
            {
                "name": "agreement",
                "deployment": {"node": nodes},
                "file_system": {"name": system},
                "workload": workload,
            },
        )
    )


@pytest.mark.grid
@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
@pytest.mark.parametrize(("system", "operation"), DESCRIBED)
def test_without_contention_both_give_the_same_latency(system, operation, apart):
    """For one client and fixed service times, the Petri net and the formula give equal rates. The
    rates may differ where the net simulates several units of a pipeline as one."""
    given = situation(system, operation, apart=apart)
    formula = given.predict(given.constants)
    net = simulate(given, given.constants, service="deterministic")
    left = any(isinstance(n, op.Later) for n in op.walk(given.system.operations[operation]))
    if operation in METADATA and left:
        # In the net, an operation's deferred work delays the next operation, and the deferred work
        # of the last operation prolongs the run. The formula has neither delay, so the net may be
        # slower.
        assert 0.75 * formula.rate_per_s <= net.rate_per_s <= 1.001 * formula.rate_per_s
        return
    # The net simulates at most 64 units of a pipeline. If there are more, one simulated unit stands
    # for a group of units. Each stage takes the time of one simulated unit to fill, so groups make
    # each stage up to 1/64 slower.
    assert net.rate_per_s == pytest.approx(formula.rate_per_s, rel=0.05)
    if operation in METADATA:
        assert net.rate_per_s == pytest.approx(formula.rate_per_s, rel=1e-3)


@pytest.mark.grid
@pytest.mark.parametrize("operation", METADATA)
@pytest.mark.parametrize("system", ["local", "hdfs"])
def test_without_contention_random_times_agree_within_three_standard_errors(system, operation):
    given = situation(system, operation, operations_per_client=400)
    formula = given.predict(given.constants)
    net = simulate(given, given.constants, service="exponential", replications=30)
    assert net.errors["rate"] > 0
    off = net.rate_per_s / formula.rate_per_s - 1
    # The rate is a ratio. The mean of a ratio of random values is biased by about its relative
    # variance.
    bias = 30 * net.errors["rate"] ** 2
    assert abs(off) <= 3 * net.errors["rate"] + bias


@pytest.mark.grid
@pytest.mark.parametrize("apart", [True, False], ids=["apart", "together"])
@pytest.mark.parametrize("operation", ["read", "write", "create", "stat"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_with_contention_the_net_lies_within_the_bounds(system, operation, apart):
    for clients in (2, 8):
        given = situation(system, operation, clients, apart, operations_per_client=40)
        low, high = given.predict(given.constants).bounds_per_s
        net = simulate(given, given.constants)
        slack = 3 * net.errors["rate"] + 0.05
        assert low * (1 - slack) <= net.rate_per_s <= high * (1 + slack)
        assert max(net.utilisation.values()) <= 1 + 1e-9


@pytest.mark.parametrize("clients", [1, 8, 32])
def test_a_closed_network_has_its_product_form_answer(clients):
    """A closed network with exponential service has its exact product-form rate. The network has
    four network stations and four disk stations, each with a quarter of the visits."""
    roles = ["client", *(f"n{i}" for i in range(4)), *(f"d{i}" for i in range(4))]
    nodes = [{"name": role, "cores": 1, "roles": {role: 1}} for role in roles]
    deployment = build(Deployment, {"node": nodes})
    times = {f"n{i}": 0.635 for i in range(4)} | {f"d{i}": 1.15 for i in range(4)}
    ways = [(0.25, op.cpu(f"{kind}{i}", times[f"{kind}{i}"])) for kind in "nd" for i in range(4)]
    tree = op.seq(op.choice(*ways[:4]), op.choice(*ways[4:]), name="read")
    environment = {f"{role}.frequency": 2.5e9 for role in roles} | {
        "network_latency": 0.0,
        "loopback_latency": 0.0,
        "file_size": 1.0,
    }
    job = NetJob({"read": tree}, Placement(deployment), environment, service="exponential")
    each = 6000 // clients + 200
    stream = [planned(c, i, "read", 0, 1, 1) for i in range(each) for c in range(clients)]
    net, watched = job.net("closed", clients, stream)
    reports = fire(net, seed=11, replications=8)
    exact = mean_value_analysis([0.635 / 4] * 4 + [1.15 / 4] * 4, clients).rate_per_s
    # Only the time in which all clients are active counts, because the clients' streams end at
    # different times.
    rates = steady_rates_per_s(reports, watched)
    mean = sum(rates) / len(rates)
    error = (sum((r - mean) ** 2 for r in rates) / 7 / 8) ** 0.5
    assert abs(mean - exact) <= 3 * error


@pytest.mark.parametrize("workload", ["mixture", "sequential_read", "metadata"])
def test_the_net_is_given_the_same_bytes_as_the_real_target(workload):
    given = situation("local")
    given.scenario = given.scenario.with_values(
        {"workload.name": workload, "workload.clients": 3, "workload.operations_per_client": 25}
    )
    given = Situation(given.scenario)
    spec = stream_spec(given.scenario)
    stream = streams(spec, 25, 3)
    net, watched = job_of(given, given.constants, stream).net("bytes", 3, stream)
    names = list(watched.spans)
    log = LogMonitor(transition=BEGINS, fields=list(map(text, ENTERING)), limit=10_000)
    (report,) = fire(net, {"begins": log}, seed=1, replications=1)
    entered: dict[int, bytes] = {}
    for _, values in report.logs["begins"].rows:
        client, index, kind, *rest = map(int, values)
        row = struct.pack("<IIQQQQQII", client, CODES.index(names[kind]), index, *rest)
        entered[client] = entered.get(client, b"") + row
    for client in range(3):
        assert entered[client] == _core.stream_bytes(spec.text, client)


def test_the_real_target_did_the_same_bytes(tmp_path):
    spec = stream_spec(situation("local", file_size="4 KiB").scenario)
    target = PosixTarget(root=str(tmp_path))
    plan = LoadPlan(stream=spec, target=target, run_directory="run", record=True)
    _, _, done = _core.run_load(plan.text)
    assert without_times(done) == _core.stream_bytes(spec.text, 0)


def test_a_replica_costs_the_clients_adapter_twice():
    """If the client sends every replica itself, two replicas halve the rate. With one replica, a
    client with an adapter of 1 Gbit/s writes files of 256 MiB at no more than 117.7 MB/s."""
    rates = {}
    for copies in (1, 2):
        nodes = [
            {
                "name": "brick",
                "count": 2,
                "cores": 16,
                "roles": {"brick": 1},
                "adapter": {"bandwidth": "1 Gbit/s"},
            },
            {
                "name": "client",
                "cores": 16,
                "roles": {"client": 1},
                "adapter": {"bandwidth": "1 Gbit/s"},
            },
        ]
        given = Situation(
            build(
                Scenario,
                {
                    "name": "nic",
                    "deployment": {"node": nodes},
                    "file_system": {"name": "glusterfs", "copies": copies},
                    "workload": {
                        "name": "sequential_write",
                        "file_size": "256 MiB",
                        "operations_per_client": 4,
                    },
                },
            )
        )
        constants = dict.fromkeys(given.constants, 1e-12)
        rates[copies] = simulate(given, constants).rate_per_s * 2**28
        assert rates[copies] <= 1.177e8 / copies * 1.001
    assert rates[1] == pytest.approx(1.177e8, rel=0.05)
    assert rates[2] == pytest.approx(1.177e8 / 2, rel=0.05)


def test_the_same_seed_gives_the_same_answer():
    given = situation("hdfs", "write", clients=3, apart=False)
    first = simulate(given, given.constants)
    assert simulate(given, given.constants) == first


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_net_of_every_operation_is_sound(system):
    described = discover.file_system(system)
    for operation in described.operations:
        assert check(net_of(described, operation)).transitions > 1
