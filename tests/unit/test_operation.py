"""Tests of the step language, in which operations are described. The cost of each kind of node
equals a cost that was calculated by hand. Symbolic formulas give the same values as a calculation
with numbers."""

from __future__ import annotations

import pytest
import sympy
from dfslab import discover
from dfslab.models.tree.formula import formula
from dfslab.models.tree.placement import Placement
from dfslab.models.tree.reader import TreeReader
from dfslab.spec.deployment import Deployment
from dfslab.spec.model import build
from dfslab.spec.steps import operation as op
from dfslab.spec.steps.expression import symbol
from dfslab.spec.steps.node import symbols
from dfslab.spec.systems.parameters import hardware

NODES = [
    {"name": "c", "cores": 1, "roles": {"client": 1}, "adapter": {"bandwidth": "100 MB/s"}},
    {
        "name": "s",
        "cores": 1,
        "count": 2,
        "roles": {"server": 1},
        "adapter": {"bandwidth": "50 MB/s"},
        "disk": {"write_rate": "10 MB/s", "read_rate": "10 MB/s", "latency": "0 s"},
    },
]


def reader(nodes=None, **values):
    deployment = build(Deployment, {"node": nodes or NODES, "network": {"latency": "1 ms"}})
    environment = {
        "network_latency": 1e-3,
        "loopback_latency": 1e-5,
        "client.frequency": 2.5e9,
        "server.frequency": 2.5e9,
        "client.nic_bandwidth": 1e8,
        "server.nic_bandwidth": 5e7,
        "client.nic_latency": 0.0,
        "server.nic_latency": 0.0,
        "server.disk_write_rate": 1e7,
        "server.disk_read_rate": 1e7,
        "server.disk_latency": 0.0,
    }
    return TreeReader(Placement(deployment), {**environment, **values})


def test_seq_adds_and_par_takes_the_longest():
    tree = op.seq(op.cpu("client", 0.2), op.par(op.cpu("client", 0.1), op.delay("server", 0.5)))
    assert reader().read(tree).latency_s == pytest.approx(0.7)


def test_parallel_work_on_one_station_takes_turns():
    tree = op.par(op.cpu("client", 0.3), op.cpu("client", 0.3))
    assert reader().read(tree).latency_s == pytest.approx(0.6)


def test_copies_on_two_nodes_do_not():
    tree = op.par(op.cpu("server", 0.3), copies=2)
    assert reader().read(tree).latency_s == pytest.approx(0.3)


def test_call_pays_both_ways():
    tree = op.call("server", "ask", op.cpu("server", 0.1), request_bytes=5e4, response_bytes=5e6)
    assert reader().read(tree).latency_s == pytest.approx(0.1 + 2e-3 + 1e-3 + 0.1)


def test_a_message_inside_a_node_uses_no_adapter():
    both = [{"name": "one", "cores": 2, "roles": {"client": 1, "server": 1}}]
    cost = reader(both).read(op.call("server", "ask", op.cpu("server", 0.1), request_bytes=1e9))
    assert cost.latency_s == pytest.approx(0.1 + 2e-5)
    assert {s.kind for s in cost.demands} == {"cpu"}


def test_pipeline_is_first_unit_and_then_the_slowest_stage():
    tree = op.pipeline(10, op.cpu("client", 0.1), op.cpu("server", 0.6), op.delay("server", 0.2))
    # The first unit passes all stages in 0.9 s. Nine more units follow at intervals of 0.6 s, the
    # time of the slowest stage. This stage has two nodes, but serves one unit at a time.
    assert reader().read(tree).latency_s == pytest.approx(0.9 + 9 * 0.6)


def test_pipeline_stages_on_one_processor_share_it():
    tree = op.pipeline(10, op.cpu("client", 0.3), op.cpu("client", 0.3))
    assert reader().read(tree).latency_s == pytest.approx(0.6 + 9 * 0.6)


def test_propagation_delays_a_stream_once():
    tree = op.pipeline(100, op.send("server", "unit", op.cpu("server", 1e-4), size_bytes=0))
    assert reader().read(tree).latency_s == pytest.approx(1e-3 + 100 * 1e-4)


def test_repeat_choice_and_later():
    tree = op.seq(
        op.repeat(3, op.cpu("client", 0.1)),
        op.choice((0.25, op.delay("client", 1.0))),
        op.later(op.disk_write("server", 1e7)),
    )
    cost = reader().read(tree)
    assert cost.latency_s == pytest.approx(0.3 + 0.25)
    assert {str(s): d for s, d in cost.background.items()} == {"s.disk": pytest.approx(1.0)}


def test_two_parts_of_a_body_take_the_time_of_the_body():
    body = op.seq(op.cpu("client", 0.4), op.disk_write("server", 1e7))
    both = reader(share=0.25).read(
        op.seq(op.part(symbol("share"), body), op.part(1 - symbol("share"), body))
    )
    whole = reader().read(body)
    assert both.latency_s == pytest.approx(whole.latency_s)
    assert both.demands == pytest.approx(whole.demands)
    assert reader().read(op.part(0, body)).latency_s == 0.0


def test_held_threads_are_a_station():
    tree = op.hold_thread("server", 4, op.cpu("server", 0.1))
    demands = {str(s): (d, s.servers) for s, d in reader().read(tree).demands.items()}
    assert demands["server.threads"] == (pytest.approx(0.1), 4)


@pytest.mark.parametrize("name", list(discover.members(discover.FILE_SYSTEMS)))
def test_formula_and_numbers_agree_on_distinct_nodes(name):
    """If no two steps of an operation share a resource, two calculations give the same latency: the
    symbolic formula, and the critical path that is computed with numbers."""
    system = discover.file_system(name)
    nodes = [
        {"name": role.name, "count": 64, "cores": 64, "roles": {role.name: 1}}
        for role in system.roles
    ]
    deployment = build(Deployment, {"node": nodes})
    values = {
        "network_latency": 5e-5,
        "loopback_latency": 0.0,
        "file_size": 3e6,
        "transfer_size": 131072.0,
        "clients": 1.0,
        "direct": 0.0,
        "cold": 0.0,
        "fsync": 1.0,
        "scattered": 0.0,
        "forced": 0.0,
        "forced_attributes": 0.0,
        "entries": 10.0,
        "kept": 0.0,
        "first": 0.25,
        "initial_window": 14480.0,
    }
    values |= {p.key: float(p.default) for p in system.parameters}
    for role in system.roles:
        for kind, number in (
            ("frequency", 2.5e9),
            ("nic_bandwidth", 1e12),
            ("nic_latency", 0.0),
            ("disk_read_rate", 1e9),
            ("disk_write_rate", 1e9),
            ("disk_latency", 1e-4),
            ("call_time", 1e-6),
            ("copy_rate", 1e10),
            ("instances", 64.0),
        ):
            values[f"{role.name}.{kind}"] = number
    needed = {name for tree in system.operations.values() for name in symbols(tree)}
    for key in sorted(needed - set(values)):
        known = hardware(key)
        assert known is not None, key
        assert known.default is not None, key
        values[key] = known.default
    numbers = TreeReader(Placement(deployment), values)
    for operation, tree in system.operations.items():
        expanded = formula(operation, tree).expanded()
        free = sorted(expanded.free_symbols, key=str)
        # All symbols are replaced by numbers in a single evaluation. If they were replaced one
        # after the other, SymPy would simplify the expression after each replacement, which takes
        # long.
        computed = sympy.lambdify(free, expanded, "math", cse=True)
        expected = float(computed(*(values[str(one)] for one in free)))
        assert numbers.read(tree).latency_s == pytest.approx(expected, rel=2e-3), operation


def test_pipelines_move_with_their_units():
    hop = op.send("server", "hop", op.cpu("server", 0.0), size_bytes=5e6)
    cost = reader().read(op.pipeline(1, op.repeat(3, hop)))
    out = {str(s): d for s, d in cost.demands.items() if s.kind == "nic.out"}
    # The client sends one of three copies, and the servers forward the other two.
    assert out["c.nic.out"] == pytest.approx(0.05)
    assert out["s.nic.out"] == pytest.approx(2 * 0.1)
