"""Tests that evaluating a model for several sets of constants at once gives the same results as
evaluating it for each set."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from dfslab import discover
from dfslab.models.queue.queueing import many_values, mean_value_analysis
from dfslab.models.tree import prediction
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.placement import Placement
from dfslab.models.tree.prediction import Situation
from dfslab.models.tree.reader import TreeReader, Varies
from dfslab.spec.deployment import Deployment
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps import operation as op
from dfslab.spec.systems.standard import standard

SETS = 5
DESCRIBED = sorted(discover.members(discover.FILE_SYSTEMS))


def situation(system, clients):
    described = discover.file_system(system)
    deployment = standard(described, 4, 1, 125e6, 0.0, 60e6)
    return Situation(
        build(
            Scenario,
            {
                "name": "many",
                "deployment": deployment.model_dump(mode="json"),
                "file_system": {"name": system},
                "workload": {"name": "sequential_write", "clients": clients, "file_size": "9 MiB"},
            },
        )
    )


@pytest.mark.grid
@pytest.mark.parametrize("clients", [1, 7])
@pytest.mark.parametrize("system", DESCRIBED)
def test_a_tree_answers_for_many_sets_as_for_each(system, clients):
    given = situation(system, clients)
    random = np.random.default_rng(3)
    sets = [
        {key: value * float(np.exp(random.normal())) for key, value in given.constants.items()}
        for _ in range(SETS)
    ]
    together = given.predict_many(sets)
    for index, one in enumerate(sets):
        alone = given.predict(one)
        assert together.rate_per_s[index] == pytest.approx(alone.rate_per_s, rel=1e-9)
        for name, time in alone.latency_s.items():
            assert together.latency_s[name][index] == pytest.approx(time, rel=1e-9)
        for key, time in alone.steps.items():
            if key in together.steps:
                assert together.steps[key][index] == pytest.approx(time, rel=1e-9, abs=1e-12)


def test_networks_side_by_side_are_those_alone():
    random = np.random.default_rng(5)
    demands, extra = random.uniform(0, 1, (4, 3)), random.uniform(0, 0.3, (4, 3))
    servers, latency = np.array([1, 3, 1, 10]), random.uniform(0.5, 4, 3)
    found = many_values(demands, 9, 0.5, servers, latency, extra)
    for index in range(3):
        one = mean_value_analysis(
            demands[:, index], 9, 0.5, list(servers), float(latency[index]), list(extra[:, index])
        )
        assert found.rate_per_s[index] == pytest.approx(one.rate_per_s, rel=1e-12)
        assert found.waiting_s[:, index] == pytest.approx(one.waiting_s, rel=1e-12)


def of_turns(tree, turns):
    """Returns the cost of an operation tree on one node. `turns` is the value of the symbol
    `turns`: a number, or an array with one element for each set of constants."""
    node = {"name": "client", "roles": {"client": 1}}
    placement = Placement(build(Deployment, {"node": [node]}))
    return TreeReader(placement, {"turns": turns, "client.frequency": 2.5e9}).read(tree)


def test_a_number_of_repetitions_may_differ_between_sets():
    tree = op.repeat(sympy.Symbol("turns"), op.cpu("client", 0.1, "turn"), name="turns")
    turns = [0.0, 0.5, 1.0, 2.5]
    together = of_turns(tree, np.array(turns))
    for index, one in enumerate(turns):
        alone = of_turns(tree, one)
        assert together.latency_s[index] == pytest.approx(alone.latency_s, rel=1e-12)
        for station, demand_s in alone.demands.items():
            assert together.demands[station][index] == pytest.approx(demand_s, rel=1e-12)


def test_the_limits_of_hdfs_evaluate_its_trees_a_few_times(monkeypatch):
    """A change of a resource may change how often HDFS waits for TCP windows, because this number
    depends on latencies and rates. All changes are nevertheless computed by one evaluation of the
    trees."""
    given = situation("hdfs", 2)
    reads = []

    class Counts(prediction.TreeReader):
        def read(self, tree):
            reads.append(tree)
            return super().read(tree)

    monkeypatch.setattr(prediction, "TreeReader", Counts)
    assert limits_of(given, given.constants)
    # There are at most three evaluations: one with the unchanged constants, one with all changes,
    # and one with equally slow hardware that is changed together.
    assert len(reads) <= 3


def test_a_count_that_depends_on_a_constant_is_read_one_after_the_other(monkeypatch):
    tree = op.par(op.cpu("client", 0.1), copies=sympy.Symbol("turns"))
    with pytest.raises(Varies):
        of_turns(tree, np.array([1.0, 2.0]))
    given = situation("hdfs", 2)
    sets = [given.constants, {key: 2 * value for key, value in given.constants.items()}]
    known = given.predict_many(sets)

    class Refuses(prediction.TreeReader):
        def read(self, tree):
            if any(isinstance(value, np.ndarray) for value in self._environment.values()):
                raise Varies("turns")
            return super().read(tree)

    monkeypatch.setattr(prediction, "TreeReader", Refuses)
    assert given.predict_many(sets).rate_per_s == pytest.approx(known.rate_per_s, rel=1e-9)
