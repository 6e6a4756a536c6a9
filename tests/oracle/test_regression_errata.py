"""Tests that dfslab computes the statistics of Kumar 2018, with errata corrected (R², adjusted R²,
first-order indices), as simple independent code does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dfslab.models.learn.features import columns_for
from dfslab.models.regression import Regression, first_order_indices
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support import synthetic


def naive_least_squares(matrix, target):
    """Returns the coefficients of a least-squares fit, computed by the normal equations as in a
    textbook."""
    inverse = np.linalg.inv(matrix.T @ matrix)
    coefficients = inverse @ matrix.T @ target
    errors = target - matrix @ coefficients
    variance = errors @ errors / (len(target) - matrix.shape[1])
    return coefficients, variance * inverse, errors


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_coefficients_and_standard_errors_equal_the_normal_equations(scale):
    results = synthetic.planted(0.3, repetitions=1, hold_out=())
    points = [result.point for result in results]
    rates = np.array([result.value() for result in results])
    target = np.log(rates) if scale == "log" else rates
    matrix = columns_for(points, scale).matrix(points)
    coefficients, covariance, left = naive_least_squares(matrix, target)
    errors = np.sqrt(np.diag(covariance))
    model = Regression(scale).fit(results)
    fitted = model.fitted
    found = np.array(list(fitted.coefficients.values()))
    assert found[:, 0] == pytest.approx(coefficients, rel=1e-6)
    assert found[:, 1] == pytest.approx(errors, rel=1e-6)
    total = ((target - target.mean()) ** 2).sum()
    assert fitted.r_squared == pytest.approx(1 - left @ left / total)
    # The 90 % prediction interval of a new configuration includes the configuration's noise and the
    # errors of the coefficients.
    freedom = len(target) - matrix.shape[1]
    row = matrix[7]
    own = left @ left / freedom
    half_width = stats.t.ppf(0.95, freedom) * np.sqrt(own + row @ covariance @ row)
    wanted = np.array([row @ coefficients + side * half_width for side in (0, -1, 1)])
    rate = model.run(points[7]).metrics["rate_per_s"]
    shown = np.exp(wanted) if scale == "log" else wanted
    assert (rate.value, rate.low, rate.high) == pytest.approx(tuple(shown), rel=1e-6)


def test_r_squared_of_held_out_rows_may_be_negative():
    """R² is in [0, 1] only on the rows of the fit, and may be negative on held-out rows (erratum
    K2)."""
    results = synthetic.planted(0.1)
    reads = [r for r in results if synthetic.operation(r.point) == "read"]
    # R² is negative for two reasons. First, the held-out writes all have the same file size, so
    # their rates vary little. Second, the writes have a third of the rate of the reads to which the
    # model was fitted.
    size = results[0].labels["workload.file_size"]
    writes = [
        r
        for r in results
        if synthetic.operation(r.point) == "write" and r.labels["workload.file_size"] == size
    ]
    model = Regression().fit(reads)
    assert 0 <= model.fitted.r_squared <= 1
    target = np.log([result.value() for result in writes])
    shown = np.log([model.run(result.point).value() for result in writes])
    total = ((target - target.mean()) ** 2).sum()
    assert 1 - ((target - shown) ** 2).sum() / total < 0


effects = st.floats(-5, 5).filter(lambda value: abs(value) > 0.1)


@given(a=effects, b=effects, c=st.floats(-5, 5))
def test_first_order_indices_are_those_of_the_closed_form(a, b, c):
    """First-order indices of y = a x + b z + c x z, over x in 1..5 and z in -1, 0, 1, equal the
    closed form (erratum K3)."""
    grid = list(itertools.product(range(1, 6), (-1, 0, 1)))
    x, z = (np.array(column, dtype=float) for column in zip(*grid, strict=True))
    found = first_order_indices({"x": x.tolist(), "z": z.tolist()}, a * x + b * z + c * x * z)
    # Variances V and means E of x and z: V(x) = 2, V(z) = 2/3, E(x) = 3, E(z) = 0. Since E(x) is
    # not 0, the interaction adds to the index of z.
    own_x, own_z, interaction = 2 * a**2, (b + 3 * c) ** 2 * 2 / 3, c**2 * 2 * 2 / 3
    total = own_x + own_z + interaction
    assert found["x"] == pytest.approx(own_x / total)
    assert found["z"] == pytest.approx(own_z / total)
    assert sum(found.values()) == pytest.approx(1 - interaction / total)
    assert found["x"] > 0


def test_a_result_gives_index_and_share():
    """A result reports both the first-order index S_i of a factor and the paper's share VI_i = S_i
    / (sum of S_j over all factors j), because the share alone hides interactions."""
    results = synthetic.planted(hold_out=())
    importance = Regression().fit(results).run(results[0].point).regression.importance
    # For each quantity, the variance of its part of the planted law over the full grid; the law has
    # no interactions.
    parts = {
        "file_size": np.var(0.7 * np.log2([1 / 16, 1 / 4, 1, 4, 16])),
        "clients": np.var(0.5 * np.log2([1, 2, 4])),
        "operations": np.var([0, np.log2(3)]),
    }
    total = sum(parts.values())
    assert set(importance) == set(parts)
    for name, part in parts.items():
        assert importance[name].first_order == pytest.approx(part / total)
        assert importance[name].share == pytest.approx(part / total)
