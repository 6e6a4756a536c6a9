"""Tests whether the numbers that Kumar 2018 publishes, with errata corrected, are possible. Table 5
is compared with physical limits, legal layouts and arithmetic."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dfslab.models.learn.estimators import PaperLinear, adjusted, r_squared

# Columns of Kumar's Table 5. Two columns are omitted. The effects of the disks are near 0, and the
# unit of the workload size is unknown (erratum K7).
NAMES = ("network", "base file system", "servers", "clients", "striping", "replication")
CONSTANT = {"write": -120.485, "read": -142.931, "random read": -39.676, "random write": -114.066}
TABLE = {
    "write": (271.936, 4.419, 30.729, -34.359, 10.380, -59.182),
    "read": (237.502, -4.406, 15.890, -21.094, 3.508, -21.058),
    # The paper prints -961 in place of -0.961 (erratum K6).
    "random read": (162.003, -17.888, 14.204, -16.546, -0.961, -22.799),
    "random write": (230.091, -2.190, 34.241, -39.060, 13.538, -60.986),
}
BOX = list(itertools.product((1, 2), (1, 2), *[range(1, 6)] * 4))
LEGAL = [row for row in BOX if row[2] % (row[4] * row[5]) == 0]


def planted(metric, rows):
    return CONSTANT[metric] + np.array(rows, dtype=float) @ np.array(TABLE[metric])


@pytest.fixture(scope="module", params=list(TABLE))
def metric(request):
    return request.param


def fitted(metric, noise=0.0):
    random = np.random.default_rng(1)
    target = planted(metric, LEGAL) + noise * random.normal(size=len(LEGAL))
    return PaperLinear().fit(np.array(LEGAL, dtype=float), target), target


def test_the_tables_coefficients_are_found_on_the_legal_layouts(metric):
    model, target = fitted(metric)
    assert model.coef_ == pytest.approx(TABLE[metric])
    assert model.intercept_ == pytest.approx(CONSTANT[metric])
    assert model.r_squared_ == pytest.approx(1.0)
    noisy, target = fitted(metric, 20.0)
    matrix = np.column_stack([np.ones(len(LEGAL)), np.array(LEGAL, dtype=float)])
    inverse = np.linalg.inv(matrix.T @ matrix)
    left = target - noisy.predict(np.array(LEGAL, dtype=float))
    variance = left @ left / (len(LEGAL) - matrix.shape[1])
    errors = np.sqrt(np.diag(variance * inverse))
    assert noisy.standard_error_ == pytest.approx(errors[1:])
    assert noisy.intercept_error_ == pytest.approx(errors[0])
    by_hand = 1 - (left @ left) / ((target - target.mean()) ** 2).sum()
    assert noisy.r_squared_ == pytest.approx(by_hand)
    freedom = len(LEGAL) - len(NAMES) - 1
    assert noisy.adjusted_r_squared_ == pytest.approx(
        1 - (len(LEGAL) - 1) / freedom * (1 - by_hand)
    )


def test_r_squared_of_rows_left_out_may_be_negative():
    """R² is in [0, 1] only for the rows of the fit, and may be negative for other rows (erratum
    K2). SSE is the sum of squared errors (erratum K1)."""
    y = np.array([1.0, 2.0, 3.0])
    assert r_squared(y, np.array([3.0, 2.0, 1.0])) == pytest.approx(-3.0)
    assert r_squared(y, y) == 1.0
    assert adjusted(0.5, 11, 5) == pytest.approx(0.0)


def test_only_the_code_one_and_two_gives_speeds_that_a_network_has():
    """In the linear model of Kumar's Table 5, a number stands for the type of network. The number
    must be 1 for Gigabit and 2 for InfiniBand. If all other columns are 1, the model then gives 103
    and 375 MB/s, which these networks can carry. The number 0 would give a negative rate (erratum
    K5)."""
    ones = [1] * 6
    shown = [float(planted("write", [[code, *ones[1:]]])[0]) for code in (1, 2, 0)]
    assert shown == pytest.approx([103.0, 375.0, -168.0], abs=0.6)
    assert shown[0] < 124
    assert shown[1] < 725


def test_the_linear_model_predicts_negative_speeds():
    """The linear model of the paper predicts negative rates for a quarter of its grid of
    configurations, and for a tenth of the legal layouts (erratum K8)."""
    model, _ = fitted("write")
    assert len(BOX) == 2500
    assert len({(row[2], row[4], row[5]) for row in LEGAL}) == 16
    shares = [(model.predict(np.array(rows, dtype=float)) < 0).mean() for rows in (BOX, LEGAL)]
    assert shares == pytest.approx([0.25, 0.10], abs=0.012)
    worst = model.predict(np.array([[1, 1, 5, 5, 1, 5]], dtype=float))[0]
    assert worst == pytest.approx(-148, abs=0.5)


def test_factors_rank_by_effect_over_range():
    """Ranked by effect, which is coefficient × range of the factor, the network is only slightly
    ahead of replication (erratum K10)."""
    model, _ = fitted("write")
    effects = dict(zip(NAMES, model.effects, strict=True))
    assert effects == pytest.approx(
        {
            "network": 272,
            "base file system": 4.4,
            "servers": 123,
            "clients": 137,
            "striping": 42,
            "replication": 237,
        },
        abs=0.6,
    )


def test_disks_that_move_together_have_no_coefficients_of_their_own():
    """The read and the write rate of two disks change together, so they form a single column
    without separate coefficients (erratum K11)."""
    random = np.random.default_rng(2)
    disk = random.integers(2, size=40)
    read, write = np.array([117.0, 81.0])[disk], np.array([148.0, 100.0])[disk]
    network = random.integers(1, 3, size=40)
    model = PaperLinear().fit(np.column_stack([network, read, write]), 200.0 * network + read)
    assert np.isinf(model.standard_error_[2])
    assert model.coef_[2] == 0.0


def test_the_workload_coefficient_cannot_be_in_megabytes():
    """The paper's coefficient of the workload size cannot be per MB: 20 GB would then lower the
    rate of writes by 3,277 MB/s and the rate of reads by 82 MB/s (erratum K7)."""
    assert pytest.approx(3277, abs=1) == 0.16 * 20 * 1024
    assert pytest.approx(82, abs=0.1) == 0.004 * 20 * 1024


def test_the_papers_bill():
    """In the paper's list of run times, 20 GB at 1.5 MB/s take 13,653 s instead of the printed
    30,000 s (erratum K13), and 51,200 counts records, not files (erratum K20). The sum of 24 days
    is right."""
    assert pytest.approx(13653, abs=1) == 20 * 1024 / 1.5
    assert pytest.approx(0.68, abs=0.005) == 20 * 1024 / 30000
    assert pytest.approx(3.95, abs=0.01) == 500 * 1024 / 1.5 / 86400
    assert pytest.approx(23.88) == 8.6 + 3.34 + 3.34 + 8.6
    assert 100 * 1024 // 2 == 51200


def test_one_random_hold_out_flatters_all_four():
    """The paper's cross-validated R² exceeds its adjusted R² in all four columns, so a single
    random hold-out was too favourable (erratum K14)."""
    fitted_r2, held_out = np.array([73.5, 80.1, 74.4, 74.5]), np.array([75.4, 82.5, 75.2, 76.9])
    gaps = held_out - fitted_r2
    assert (gaps.min(), gaps.max()) == pytest.approx((0.8, 2.4))


def test_table_eight_does_not_show_a_network_bottleneck():
    """Table 8 of the paper does not show that the network is the bottleneck. Only 4.5 MB/s were
    transferred, and the faster network gives 6.79 times the rate, which is more than the ratio of
    the bandwidths (errata K17 and K18)."""
    assert pytest.approx(4.5, abs=0.06) == 500 * 1024 / (1916 * 60)
    assert pytest.approx(6.79, abs=0.01) == 1916 / 282
    assert 1916 / 282 > 5.8 / 0.993
    assert pytest.approx((31.9, 8.0), abs=0.05) == (1916 / 60, 478 / 60)
    b, a = np.polyfit([1 / 2, 1 / 10], [478.0, 144.0], 1)
    assert (a, b) == pytest.approx((60.5, 835), abs=0.1)
    assert (a + b / 4) / 282 - 1 == pytest.approx(-0.045, abs=0.001)
