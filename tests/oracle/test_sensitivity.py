"""Tests of sensitivity analysis: the importance of factors as estimated from measurements, the
detection of factors that change together, and proposals for further runs."""

from __future__ import annotations

import numpy as np
import pytest
from dfslab.result import Metric
from dfslab.studies.designs import sensitivity
from dfslab.studies.designs.next import shrink


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


def test_the_next_run_is_the_most_informative_one_for_its_cost():
    """The next run to measure is the run that most reduces the uncertainty of two queried
    configurations. There are three candidates: the first queried configuration, a configuration
    that is correlated with both queried configurations, and a configuration that is correlated with
    none of them."""
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
