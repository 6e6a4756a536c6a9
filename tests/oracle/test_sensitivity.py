"""Tests of sensitivity indices against closed forms: Ishigami's function, Sobol's G function, tied
and collinear factors."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.result import Metric
from dfslab.spec.design import Design
from dfslab.spec.model import build
from dfslab.studies.designs import sensitivity
from dfslab.studies.designs.legal import Legal
from dfslab.studies.designs.next import shrink
from SALib.sample import sobol as sampling

LEVELS = 16


def legal(count, levels=LEVELS, constraints=()):
    """Returns a set of legal configurations with factors x0, x1, …, whose levels 0, 1, … are
    equally likely. `constraints` exclude combinations."""
    factors = [
        {"name": f"x{i}", "keys": [f"workload.x{i}"], "levels": list(range(levels))}
        for i in range(count)
    ]
    return Legal(build(Design, {"factor": factors, "constraints": list(constraints)}))


def middles(rows, levels=LEVELS):
    """Returns the levels as midpoints of equal parts of [0, 1]."""
    return (np.array(rows) + 0.5) / levels


def ishigami(rows):
    x = (2 * middles(rows) - 1) * np.pi
    return np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


def ishigami_indices():
    """Returns the first-order and total indices of Ishigami's function in closed form, for its
    parameters a = 7 and b = 0.1."""
    first = 0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2
    second, shared = 7**2 / 8, 0.1**2 * np.pi**8 * (1 / 18 - 1 / 50)
    total = first + second + shared
    return np.array([first, second, 0.0]) / total, np.array(
        [first + shared, second, shared]
    ) / total


A = np.array([0.0, 1.0, 4.5, 9.0])


def sobol_g(rows):
    return np.prod((np.abs(4 * middles(rows, 32) - 2) + A) / (1 + A), axis=1)


def sobol_g_indices():
    own = 1 / (3 * (1 + A) ** 2)
    whole = np.prod(1 + own) - 1
    return own / whole, own * np.prod(1 + own) / (1 + own) / whole


CASES = {
    "ishigami": (ishigami, 3, LEVELS, ishigami_indices),
    "sobol-g": (sobol_g, 4, 32, sobol_g_indices),
}


@pytest.mark.parametrize("name", CASES)
def test_indices_of_known_functions(name):
    function, count, levels, known = CASES[name]
    allowed = legal(count, levels)
    names = [f"x{i}" for i in range(count)]
    drawn = sensitivity.sample(allowed, 3000, seed=4)
    found = sensitivity.indices(drawn, [function(drawn.rows)], names, seed=4)
    first, total = known()
    assert [one.first_order.value for one in found] == pytest.approx(first, abs=0.04)
    assert [one.total.value for one in found] == pytest.approx(total, abs=0.05)
    assert sum(one.share.value for one in found) == pytest.approx(1.0)
    for one, truth in zip(found, total, strict=True):
        assert one.total.low - 0.02 <= truth <= one.total.high + 0.02


@pytest.mark.parametrize("name", CASES)
def test_blocks_agree_with_the_closed_form(name):
    function, count, levels, known = CASES[name]
    found = sensitivity.blocks(legal(count, levels), function, 1024, seed=4)
    first, total = known()
    assert list(found) == [f"x{i}" for i in range(count)]
    for (one, all_of_it), s1, st in zip(found.values(), first, total, strict=True):
        assert one.value == pytest.approx(s1, abs=0.05)
        assert all_of_it.value == pytest.approx(st, abs=0.05)


def test_salib_itself_is_read_right():
    problem = {"num_vars": 3, "names": ["a", "b", "c"], "bounds": [[-np.pi, np.pi]] * 3}
    x = sampling.sample(problem, 1024, calc_second_order=False, seed=1)
    answer = np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])
    found = sensitivity.sobol(problem, answer, 1)
    first, total = ishigami_indices()
    assert [one.value for one, _ in found] == pytest.approx(first, abs=0.05)
    assert [one.value for _, one in found] == pytest.approx(total, abs=0.05)


def test_tied_factors_against_the_double_sum():
    """For factors tied by the constraint x1 <= x0, the indices equal those of a full enumeration. A
    third factor is free."""
    allowed = legal(3, 6, ["x1 <= x0"])
    assert allowed.size == 21 * 6
    assert [members for members, _ in allowed.blocks] == [(0, 1), (2,)]
    rows = np.array(allowed.rows())
    weights = np.array([2.0, -1.0, 0.5])

    def truth(rows):
        rows = np.array(rows)
        return rows @ weights + 0.3 * rows[:, 0] * rows[:, 2]

    values = truth(rows)
    first, total = [], []
    for i in range(3):
        others = [j for j in range(3) if j != i]
        first.append(_between(rows[:, [i]], values) / values.var())
        total.append(1 - _between(rows[:, others], values) / values.var())
    drawn = sensitivity.sample(allowed, 3000, seed=2)
    assert set(map(tuple, drawn.rows)) <= set(map(tuple, rows.tolist()))
    found = sensitivity.indices(drawn, [truth(drawn.rows)], ["a", "b", "c"], seed=2)
    assert [one.first_order.value for one in found] == pytest.approx(first, abs=0.03)
    assert [one.total.value for one in found] == pytest.approx(total, abs=0.03)


def _between(keys, values):
    groups = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    counts = np.bincount(groups)
    means = np.bincount(groups, weights=values) / counts
    return float(counts @ (means - values.mean()) ** 2) / len(values)


def test_first_order_of_noise_is_nothing():
    random = np.random.default_rng(1)
    drawn = [(random.integers(5, size=400), random.normal(size=400)) for _ in range(60)]
    assert np.mean([sensitivity.first_order(*one) for one in drawn]) < 0.006
    levels = drawn[0][0]
    assert sensitivity.first_order(levels, levels.astype(float)) == pytest.approx(1.0)
    assert sensitivity.first_order(levels, np.ones(400)) == 0.0


def test_measures_of_data_alone_rank_what_was_planted():
    random = np.random.default_rng(3)
    levels = random.integers(4, size=(300, 3))
    values = 3.0 * levels[:, 0] + 1.0 * levels[:, 1] + 0.1 * random.normal(size=300)
    names = ["much", "some", "none"]
    for measure in (sensitivity.paper_importance, sensitivity.pawn, sensitivity.rbd_fast):
        found = measure(levels, values, names, 1)
        assert found["much"].value > found["some"].value > found["none"].value, measure.__name__
        assert all(one.low <= one.value <= one.high for one in found.values())
    owner = np.arange(3)
    shuffled = sensitivity.permutation(
        lambda x: 3.0 * x[:, 0] + x[:, 1], levels.astype(float), values, owner, names, 1
    )
    assert shuffled["much"].low > shuffled["some"].high
    assert shuffled["none"].value == pytest.approx(0.0)


def test_shap_values_add_up_by_factor():
    from dfslab.models.learn.estimators import boosting

    random = np.random.default_rng(3)
    matrix = random.integers(4, size=(200, 3)).astype(float)
    target = 2.0 * matrix[:, 0] + 0.5 * matrix[:, 1]
    model = boosting([0, 0, 0], 1).fit(matrix, target)
    found = sensitivity.shapley(model, matrix, np.arange(3), ["a", "b", "c"], 1)
    assert found["a"].value == pytest.approx(2.0, abs=0.2)
    assert found["b"].value == pytest.approx(0.5, abs=0.1)
    assert found["c"].value < 0.02


def test_what_moves_together_is_not_identifiable():
    """Factors that always change together, such as the read and write rates of two disks, are
    reported as not identifiable (erratum K11)."""
    random = np.random.default_rng(1)
    disk = random.integers(2, size=60).astype(float)
    matrix = np.column_stack([disk, disk, random.integers(2, size=60)])
    found = sensitivity.moves_with(matrix, np.arange(3), ["read", "write", "network"])
    assert found == {"read": "write", "write": "read"}
    zero = Metric(value=0.0, low=0.0, high=0.0)
    wide = Metric(value=0.1, low=0.0, high=0.4)
    one = sensitivity.FactorImportance(factor="read", first_order=zero, total=wide, share=zero)
    assert sensitivity.verdict(one, "write").startswith("not identifiable")
    assert sensitivity.verdict(one, None).startswith("not identifiable")
    assert sensitivity.verdict(one.model_copy(update={"total": zero}), None) == "no effect"


def test_the_next_run_is_the_one_that_tells_most_for_its_cost():
    """The next run to measure is the one that reduces the uncertainty of two queried configurations
    most. The candidates: the first configuration itself, one correlated with both, and one with
    neither."""
    loads = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.8, 0.8], [0.0, 0.0]])
    covariance = loads @ loads.T + np.diag([0.0, 0.0, 0.0, 0.0, 1.0])
    best, before, after = shrink(covariance, 0.1, 2, [1.0, 1.0, 1.0], 1)[0]
    assert best == 1
    naive = covariance - np.outer(covariance[:, 3], covariance[:, 3]) / (covariance[3, 3] + 0.1)
    assert before == pytest.approx(1.0)
    assert after == pytest.approx(np.sqrt(np.diag(naive)[:2].mean()))
    # If the second candidate costs ten times as much, repeating the first configuration reduces
    # more uncertainty for its cost.
    assert shrink(covariance, 0.1, 2, [1.0, 10.0, 1.0], 1)[0][0] == 0
    three = [one for one, _, _ in shrink(covariance, 0.1, 2, [1.0, 1.0, 1.0], 3)]
    assert 2 not in three[:2]
