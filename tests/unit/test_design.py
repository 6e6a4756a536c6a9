"""Tests of designs of experiments. A design contains only legal configurations, is balanced or as
informative as possible, stays within the budget, and is reproducible."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from dfslab.spec.check import check
from dfslab.spec.design import Design, holds
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario, read
from dfslab.studies.designs import design_plan
from dfslab.studies.designs.legal import Legal, legal
from support import synthetic

ROOT = Path(__file__).parents[2]


def factor(name, levels, key=""):
    return {"name": name, "keys": [key or f"workload.{name}"], "levels": list(levels)}


def designed(*factors, constraints=(), **keys):
    return build(Design, {"factor": list(factors), "constraints": list(constraints), **keys})


def gluster(*factors, **keys):
    """Returns a scenario for GlusterFS on one to five servers, with an experimental design over the
    given factors."""
    nodes = [{"name": "server", "roles": {"brick": 1}}, {"name": "client", "roles": {"client": 1}}]
    table = {
        "name": "designed",
        "deployment": {"node": nodes},
        "file_system": {"name": "glusterfs"},
        "workload": {"name": "sequential_write"},
        "run": {"methods": ["sequence"], "repetitions": 2},
        "design": {"factor": list(factors), **keys},
    }
    return build(Scenario, table)


SERVERS = factor("servers", range(1, 6), "deployment.node.server.count")
COPIES = factor("copies", range(1, 6), "file_system.copies")
FRAGMENTS = factor("fragments", (1, 2, 3), "file_system.data_fragments")
CACHE = factor("cache", ("direct", "cold", "warm"), "workload.cache")
BLOCK = factor("block", ("2 KiB", "64 KiB", "1 MiB"), "workload.transfer_size")


def test_sixteen_of_the_papers_125_layouts_are_legal():
    """Kumar's experiment has 125 layouts: 1 to 5 stripes, 1 to 5 replicas, and 1 to 5 servers with
    one brick each. A layout is legal if the number of servers is a multiple of stripes × replicas.
    Of the 125 layouts, 16 are legal."""
    names = ("stripe", "replica", "servers")
    free = [factor(name, range(1, 6)) for name in names]
    found = Legal(designed(*free, constraints=["servers % (stripe * replica) == 0"]))
    assert found.box == 125
    assert found.size == len(found.rows()) == 16
    naive = [(s, r, n) for s, r, n in itertools.product(range(1, 6), repeat=3) if n % (s * r) == 0]
    assert sorted(found.rows()) == sorted((s - 1, r - 1, n - 1) for s, r, n in naive)


def test_the_file_system_says_which_layouts_are_legal():
    found = legal(gluster(SERVERS, COPIES, FRAGMENTS))
    shown = {tuple(found.values(row).values()) for row in found.rows()}
    wanted = {
        (n, c, f)
        for n, c, f in itertools.product(range(1, 6), range(1, 6), (1, 2, 3))
        if n % c == 0 and (f == 1 or f < c < 2 * f)
    }
    assert shown == wanted


def test_workloads_are_judged_apart_from_layouts():
    found = legal(gluster(SERVERS, COPIES, CACHE, BLOCK))
    # Ten layouts are legal. Of the 3 x 3 combinations of cache mode and block size, one is illegal:
    # direct I/O with blocks of 2 KiB.
    assert found.size == 10 * (3 * 3 - 1)
    assert [members for members, _ in found.blocks] == [(0, 1), (2, 3)]
    for row in found.rows():
        check(gluster().with_values(found.values(row)))


def test_what_cannot_be_read_is_an_error_and_not_illegal():
    with pytest.raises(InputError, match="cores"):
        legal(gluster(factor("cores", ("many",), "deployment.node.server.cores"))).rows()
    with pytest.raises(InputError, match="no such group"):
        legal(gluster(factor("x", (1, 2), "deployment.node.nobody.count"))).rows()


@pytest.mark.parametrize(
    "text",
    [
        "servers +",
        "__import__('os')",
        "servers.x",
        "[1]",
        "a == 1",
        "servers ** 2 == 4",
        "servers in servers",
    ],
)
def test_constraints_are_comparisons_and_nothing_else(text):
    with pytest.raises(InputError, match=r"design\.constraints"):
        designed(SERVERS, constraints=[text])


def test_constraints_compare_numbers_and_names():
    values = {"a": 4.0, "b": "warm"}
    assert holds("a % 2 == 0 and not b == 'cold'", values)
    assert holds("1 < a <= 4 or b != 'warm'", values)
    assert not holds("a // 3 > 1 or -a == 4", values)


@pytest.mark.parametrize("kind", ["full", "latin", "d-optimal", "screening"])
def test_every_design_is_legal_and_repeats_itself(kind):
    scenario = gluster(
        SERVERS, COPIES, CACHE, BLOCK, kind=kind, testbeds=0 if kind == "full" else 6, per_testbed=4
    )
    plan = design_plan.plan(scenario)
    assert plan.rows == design_plan.plan(scenario).rows
    points = check(plan.scenario)
    assert len(points) == len(set(plan.rows)) == len(plan.rows)
    assert {len({row[:2] for row in testbed}) for testbed in plan.testbeds} == {1}
    if kind == "full":
        assert len(points) == 80
    else:
        assert len(plan.testbeds) <= 6
        assert all(len(testbed) <= 4 for testbed in plan.testbeds)
    assert plan.bill.runs == 2 * len(points)
    other = scenario.model_copy(update={"run": scenario.run.model_copy(update={"seed": 2})})
    assert design_plan.plan(other).rows != plan.rows


def test_two_levels_give_the_orthogonal_design():
    """A D-optimal design of 8 runs for 7 two-level factors is a Hadamard matrix. Therefore the
    coded matrix X of the design satisfies det(X'X) = 8^8."""
    found = Legal(designed(*(factor(f"x{i}", (0, 1)) for i in range(7))))
    coding = design_plan.Coding(found.factors)
    rows = design_plan.d_optimal(coding, found.rows(), 8)
    matrix = coding.matrix(rows)
    assert np.linalg.det(matrix.T @ matrix) == pytest.approx(8.0**8, rel=0.05)
    # The number of testbeds is not given (0), so the screening design determines the number. The
    # design has 8 runs in total.
    testbeds = design_plan.choose(found, "screening", 0, 8, 1)
    assert sum(map(len, testbeds)) == 8


def test_a_d_optimal_design_is_more_informative_than_a_random_one():
    scenario = gluster(SERVERS, COPIES, CACHE, BLOCK, testbeds=6, per_testbed=4)
    plan = design_plan.plan(scenario)
    coding = design_plan.Coding(plan.legal.factors)

    def information(rows):
        matrix = coding.matrix(rows)
        return np.linalg.slogdet(matrix.T @ matrix + 1e-3 * np.eye(matrix.shape[1]))[1]

    random = np.random.default_rng(3)
    everything = plan.legal.rows()
    drawn = [
        information([everything[i] for i in random.choice(len(everything), len(plan.rows), False)])
        for _ in range(30)
    ]
    assert information(plan.rows) > max(drawn)


def test_a_latin_square_meets_every_level_equally_often():
    found = Legal(
        designed(factor("a", range(4), "deployment.node.server.count"), factor("b", range(4)))
    )
    testbeds = design_plan.choose(found, "latin", 4, 4, 1)
    rows = [row for testbed in testbeds for row in testbed]
    assert sorted(testbed[0][0] for testbed in testbeds) == [0, 1, 2, 3]
    assert max(sum(row[1] == level for row in rows) for level in range(4)) <= 4


def test_a_budget_takes_the_best_testbeds_first():
    keys = {"beds": 12, "per_bed": 4}
    whole = design_plan.plan(gluster(SERVERS, COPIES, CACHE, BLOCK, **keys))
    half = design_plan.plan(
        gluster(SERVERS, COPIES, CACHE, BLOCK, **keys).with_budget(whole.bill.total_s / 2)
    )
    assert 0 < half.bill.total_s <= whole.bill.total_s / 2
    assert 0 < len(half.testbeds) < len(whole.testbeds)
    assert set(half.rows) < set(whole.rows)
    with pytest.raises(InputError, match="less than the first testbed"):
        design_plan.plan(gluster(SERVERS, COPIES, CACHE, BLOCK, **keys).with_budget(0.1))


def test_a_plan_reads_back_and_is_not_planned_twice():
    scenario = gluster(SERVERS, COPIES, CACHE, BLOCK, testbeds=3, per_testbed=2)
    once = design_plan.planned(scenario)
    assert design_plan.planned(once) is once
    assert len(once.points()) == 6
    assert build(Scenario, once.model_dump(mode="json")) == once
    grid = synthetic.scenario()
    assert design_plan.planned(grid) is grid


def test_what_is_set_is_no_factor_any_more():
    scenario = gluster(SERVERS, COPIES).with_overrides({"file_system.copies": 1})
    assert [one.name for one in scenario.design.factor] == ["servers"]


@pytest.mark.heavy
def test_the_shipped_scenario_plans_within_its_budget():
    scenario = read(ROOT / "scenarios" / "kumar-glusterfs.toml").with_budget(1200.0)
    plan = design_plan.plan(scenario)
    assert 900 < plan.bill.total_s <= 1200
    assert len(plan.legal.factors) >= 8
    # The effects of all factors can be estimated separately from the rows of the plan, because the
    # columns of the coded matrix are linearly independent.
    coding = design_plan.Coding(plan.legal.factors)
    matrix = coding.matrix(plan.rows)
    assert np.linalg.matrix_rank(matrix) == matrix.shape[1]
