"""Judges whether dfslab's regression on the recorded runs follows the equations of Kumar 2018."""

from __future__ import annotations

from functools import cache

import numpy as np
from dfslab.arrays import Floats
from dfslab.models.learn.estimators import PaperLinear, adjusted, independent, r_squared
from dfslab.models.learn.split_linear import layout_columns
from dfslab.models.learnt import TrainingRows, rows_of
from dfslab.models.regression import first_order_indices
from dfslab.studies.designs.slopes import encoded, operation_of

from verification import recordings
from verification.papers.obtained import Obtained, judged
from verification.reproductions import kumar

# Two computations of the same figure may differ by this relative error, because of rounding.
ROUNDING = 1e-6
ALL = slice(None)


@cache
def rows() -> TrainingRows:
    """Returns the recorded study as rows for the training of models, one row for each
    configuration."""
    return rows_of(recordings.runs(kumar.STUDY, kumar.STUDY))


@cache
def _data() -> tuple[Floats, Floats]:
    """Returns (matrix, rates in MB/s) for the recorded random writes. Each row of the matrix is a
    run, and the columns are the factors of Kumar's first model. Factors that depend linearly on
    other factors are left out."""
    own = np.flatnonzero([operation_of(point) == "random write" for point in rows().points])
    encoding, matrix = encoded(rows(), own, "linear")
    matrix = matrix[:, layout_columns(encoding, "glusterfs")]
    return matrix[:, independent(matrix)], rows().rates[own] / 1e6


def _close(one: Floats | float, other: Floats | float) -> bool:
    return bool(np.allclose(one, other, rtol=ROUNDING, atol=1e-9))


def equation_1() -> Obtained:
    """Judges whether a prediction equals the constant plus the sum over all factors of coefficient
    × factor."""
    matrix, rates = _data()
    model = PaperLinear().fit(matrix, rates)
    by_hand = model.intercept_ + matrix @ model.coef_
    text = f"{len(rates)} configurations, {matrix.shape[1]} factors, predictions equal by hand"
    return judged(_close(model.predict(matrix), by_hand), text)


def equation_2() -> Obtained:
    """Judges whether the coefficients of dfslab's regression solve the normal equations."""
    matrix, rates = _data()
    model = PaperLinear().fit(matrix, rates)
    whole = np.column_stack([np.ones(len(matrix)), matrix])
    by_hand = np.linalg.inv(whole.T @ whole) @ whole.T @ rates
    same = np.allclose([model.intercept_, *model.coef_], by_hand, rtol=1e-4, atol=1e-6)
    return judged(bool(same), f"{len(by_hand)} coefficients equal those of the normal equations")


def _sums(known: slice, requested: slice) -> tuple[float, float, float, float]:
    """Fits the model to the rows `known` and evaluates it on the rows `requested`. Returns (SST,
    SSE, SSR, R²): the total sum of squares, the sum of squared errors, the sum of squares of the
    regression, and R²."""
    matrix, rates = _data()
    shown = PaperLinear().fit(matrix[known], rates[known]).predict(matrix[requested])
    wanted = rates[requested]
    total = float(((wanted - wanted.mean()) ** 2).sum())
    error = float(((wanted - shown) ** 2).sum())
    explained = float(((shown - wanted.mean()) ** 2).sum())
    return total, error, explained, r_squared(wanted, shown)


def equation_3() -> Obtained:
    """Judges whether SST = SSE + SSR holds on the rows of the fit. SST is the total sum of squares,
    SSE the sum of squared errors, and SSR the sum of squares of the regression."""
    total, error, explained, _ = _sums(ALL, ALL)
    text = f"error {error / total:.3f} + regression {explained / total:.3f} of the total"
    return judged(_close(total, error + explained), text)


def equation_4() -> Obtained:
    """Judges whether two formulas for R² agree on the rows of the fit: R² = 1 - SSE / SST and R² =
    SSR / SST. SST is the total sum of squares, SSE the sum of squared errors, and SSR the sum of
    squares of the regression."""
    total, error, explained, r2 = _sums(ALL, ALL)
    agree = _close(r2, 1 - error / total) and _close(r2, explained / total)
    *_, held_out = _sums(slice(0, None, 2), slice(1, None, 2))
    text = f"{r2:.3f} by both forms on the rows of the fit; {held_out:.3g} on held-out rows"
    return judged(agree and 0 <= r2 <= 1, text)


def equation_5() -> Obtained:
    """Judges whether adjusted R² follows its formula and is below R²."""
    matrix, rates = _data()
    count, columns = matrix.shape
    model = PaperLinear().fit(matrix, rates)
    by_hand = 1 - (count - 1) / (count - columns - 1) * (1 - model.r_squared_)
    same = _close(adjusted(model.r_squared_, count, columns), by_hand)
    text = f"{model.r_squared_:.3f} becomes {by_hand:.3f} for n = {count}, k = {columns}"
    return judged(same and by_hand < model.r_squared_, text)


def _planted() -> dict[str, float]:
    """Returns the first-order sensitivity index of each factor of the function y = 3 a + b. The
    index is the factor's share of the variance of y. a and b take the values -1, 0 and 1 on a full
    grid."""
    grid = [(a, b) for a in (-1.0, 0.0, 1.0) for b in (-1.0, 0.0, 1.0)]
    quantities = {"a": [a for a, _ in grid], "b": [b for _, b in grid]}
    return first_order_indices(quantities, np.array([3 * a + b for a, b in grid]))


def equation_6() -> Obtained:
    """Judges whether the first-order indices of y = 3 a + b are 0.9 for a and 0.1 for b."""
    found = _planted()
    text = f"y = 3a + b: {found['a']:.2f} and {found['b']:.2f}; 0 and 0 as printed"
    return judged(_close(found["a"], 0.9) and _close(found["b"], 0.1), text)


def equation_7() -> Obtained:
    """Judges whether the first-order indices, divided by their sum, sum to 1."""
    found = _planted()
    shares = [value / sum(found.values()) for value in found.values()]
    return judged(_close(sum(shares), 1.0), f"shares {shares[0]:.2f} and {shares[1]:.2f}")
