"""Tests that the Petri net and the formula agree on random deployments, and that the sequence model
gives plausible results for every combination of legal inputs."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from dfslab import discover
from dfslab.models.compiled.net_job import NetJob
from dfslab.models.petri import fire
from dfslab.models.queue.queueing import mean_value_analysis
from dfslab.models.tree.placement import Placement
from dfslab.models.tree.prediction import Situation
from dfslab.models.tree.reader import TreeReader
from dfslab.spec.check import check
from dfslab.spec.deployment import Deployment
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps import operation as op
from support.operations import planned
from support.steady import steady_rates_per_s


def small_deployment(seed):
    """Returns a random deployment: a client node, a metadata node and one to four data nodes, with
    random parameters."""
    draw = random.Random(seed)
    cores = {"client": 64, "metadata": draw.randint(1, 4), "data": draw.randint(1, 2)}
    nodes = [
        {
            "name": role,
            "count": draw.randint(1, 4) if role == "data" else 1,
            "cores": count,
            "roles": {role: 1},
            "disk": {"count": draw.randint(1, 2)},
        }
        for role, count in cores.items()
    ]
    requested = op.call("metadata", "ask", op.cpu("metadata", draw.uniform(0.1, 1.0)))
    served = op.call(
        "data",
        "serve",
        op.cpu("data", draw.uniform(0.1, 1.0)),
        op.disk_read("data", draw.uniform(0.1, 1.0)),
    )
    tree = op.seq(op.cpu("client", draw.uniform(0.1, 2.0)), requested, served, name="read")
    environment = {
        "network_latency": draw.uniform(0.0, 0.2),
        "loopback_latency": 0.0,
        "file_size": 1.0,
    }
    for role in cores:
        environment |= {
            f"{role}.frequency": 2.5e9,
            f"{role}.nic_bandwidth": 1e15,
            f"{role}.nic_latency": 0.0,
            f"{role}.disk_read_rate": 1.0,
            f"{role}.disk_latency": 0.0,
        }
    return tree, Placement(build(Deployment, {"node": nodes})), environment, draw.randint(1, 12)


@pytest.mark.grid
@pytest.mark.parametrize("seed", range(20))
def test_mean_value_analysis_and_the_net_agree_within_three_standard_errors(seed):
    tree, placement, environment, clients = small_deployment(seed)
    cost = TreeReader(placement, environment).read(tree)
    stations = [s for s in sorted(cost.demands) for _ in range(s.copies)]
    demands = [cost.demands[s] / s.copies for s in stations]
    exact = mean_value_analysis(
        demands, clients, 0.0, [s.servers for s in stations], cost.latency_s
    ).rate_per_s
    job = NetJob({"read": tree}, placement, environment, service="exponential")
    each = 12_000 // clients
    stream = [planned(c, i, "read", 0, 1, 1) for i in range(each) for c in range(clients)]
    net, watched = job.net("random", clients, stream)
    reports = fire(net, seed=seed, replications=8)
    rates = steady_rates_per_s(reports, watched)
    mean = sum(rates) / len(rates)
    error = math.sqrt(sum((r - mean) ** 2 for r in rates) / (len(rates) - 1) / len(rates))
    # Stations with several servers are solved approximately, with an error of at most 3 %.
    several = any(station.servers > 1 for station in stations)
    assert abs(mean - exact) <= 3 * error + 0.03 * exact * several
    assert error < 0.01 * exact, "an error that allows everything proves nothing"


RATES = {"100 Mbit/s": 1.25e7, "10 Gbit/s": 1.25e9}
SIZES = ["1 KiB", "1 GiB"]
LEVELS = {
    "hdfs": {"replication": [1, 3], "handler_count": [1, 64]},
    "glusterfs": {"copies": [1, 2, 3]},
}
WORKLOADS = [
    *(
        {"name": "sequential_read", "file_size": size, "cache": cache}
        for size in SIZES
        for cache in ("warm", "cold")
    ),
    *(
        {"name": name, "file_size": size}
        for size in SIZES
        for name in ("sequential_write", "append")
    ),
    *({"name": "metadata", "operation": operation} for operation in ("create", "stat")),
]


def factorial(system):
    """Yields (link rate, whether all roles share one node, scenario) for every combination of the
    levels of parameters, workloads, clients, link rates and placements. Some scenarios have illegal
    layouts, which the caller has to skip."""
    described = discover.file_system(system)
    levels = LEVELS[system]
    factors = (itertools.product(*levels.values()), WORKLOADS, [1, 64], RATES, [False, True])
    for values, workload, clients, rate, together in itertools.product(*factors):
        counts = {r.name: 6 if r.kind == "data" else 1 for r in described.roles}
        nodes = [
            {"name": name, "count": count, "adapter": {"bandwidth": rate}, "roles": {name: 1}}
            for name, count in counts.items()
        ]
        if together:
            nodes = [{"name": "one", "adapter": {"bandwidth": rate}, "roles": counts}]
        yield (
            RATES[rate],
            together,
            build(
                Scenario,
                {
                    "name": "factorial",
                    "deployment": {"node": nodes},
                    "file_system": {
                        "name": system,
                        "access": {"testbed": True},
                        **dict(zip(levels, values, strict=True)),
                    },
                    "workload": {**workload, "clients": clients},
                },
            ),
        )


@pytest.mark.grid
@pytest.mark.parametrize("system", LEVELS)
def test_nothing_legal_is_negative_infinite_or_above_the_line(system):
    legal = 0
    for rate, together, scenario in factorial(system):
        try:
            check(scenario)
        except InputError:
            continue
        legal += 1
        given = Situation(scenario)
        found = given.predict(given.constants)
        numbers = [
            found.rate_per_s,
            *found.latency_s.values(),
            *found.unloaded_s.values(),
            *found.quantiles_s.values(),
        ]
        assert all(math.isfinite(n) and n > 0 for n in numbers), scenario.workload
        others = [*found.steps.values(), *found.utilisation.values()]
        assert all(math.isfinite(n) and n >= 0 for n in others), scenario.workload
        assert max(found.utilisation.values()) <= 1 + 1e-9
        if not together and scenario.workload.name != "metadata":
            # The bytes that a client node transfers per second are at most the rate of its adapter.
            # Page-cache hits do not use the adapter.
            carried = 1.0 - given.environment["kept"]
            assert found.rate_per_s * found.moved_bytes * carried <= rate * (1 + 1e-9)
    assert legal > 200


@pytest.mark.parametrize(
    ("system", "keys", "line"),
    [
        ("hdfs", {"replication": 7}, "file_system.replication = 7: must be at most the 6"),
        ("hdfs", {"replication": 1.5}, "file_system.replication = 1.5: must be a whole number"),
        ("hdfs", {"block_size": "1000001 B"}, "file_system.block_size"),
        ("hdfs", {"handler_count": 0}, "file_system.handler_count = 0: must be at least 1"),
        ("hdfs", {"fair_lock": 2}, "file_system.fair_lock = 2: must be one of 0, 1"),
        ("glusterfs", {"copies": 4}, "file_system."),
    ],
)
def test_an_illegal_layout_is_one_clear_line(system, keys, line):
    _, _, scenario = next(iter(factorial(system)))
    table = scenario.model_dump(mode="json")
    table["file_system"] |= keys
    with pytest.raises(InputError) as refused:
        check(build(Scenario, table))
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("rate", ["0 bit/s", "-1 Gbit/s"])
def test_no_bandwidth_is_one_clear_line(rate):
    _, _, scenario = next(iter(factorial("hdfs")))
    table = scenario.model_dump(mode="json")
    table["deployment"]["node"][0]["adapter"]["bandwidth"] = rate
    with pytest.raises(InputError, match="bandwidth") as refused:
        build(Scenario, table)
    assert "\n" not in str(refused.value)


def test_an_open_load_is_answered_with_what_binds():
    # `given` becomes the first configuration whose bottleneck is the NameNode. In other
    # configurations the NameNode's call queue stays empty.
    every = (Situation(scenario) for _, _, scenario in factorial("hdfs"))
    limits = ((one, one.predict_open(one.constants, 1.0).bottleneck) for one in every)
    given = next(one for one, limit in limits if limit.startswith("namenode"))
    calm = given.predict_open(given.constants, 1.0)
    full = given.predict_open(given.constants, 1e9)
    assert calm.latency_s == pytest.approx(
        sum(cost.latency_s for cost in given.costs(given.constants).values()), rel=0.05
    )
    assert calm.quantiles_s["p50"] < calm.quantiles_s["p99"]
    # The NameNode's call queue is finite, so the response time is finite in overload, too: an
    # admitted client waits for the whole queue.
    waited_s = full.places / full.largest_rate_per_s
    assert full.latency_s == pytest.approx(waited_s + calm.latency_s, rel=0.05)
    assert full.refused > 0.99
    assert calm.refused < 1e-9
    assert full.bottleneck == calm.bottleneck
    assert calm.largest_rate_per_s == full.largest_rate_per_s
