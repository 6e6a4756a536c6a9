"""Measures the importance of factors from measured data alone, finds collinear factors, and gives
the verdict on a factor.

The module `variance` computes the indices of a model over the legal configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np
from SALib.analyze import pawn as salib_pawn
from SALib.analyze import rbd_fast as salib_rbd_fast

from dfslab.arrays import Floats, Integers
from dfslab.result import Metric
from dfslab.studies.designs.lessons import FactorImportance
from dfslab.studies.designs.variance import first_order, metric_of

# Number of slices of PAWN. The number has to be a power of two, because for other numbers SALib
# requests a quantile above 1 by a rounding error.
PAWN_SLICES = 4
# Least R² at which a factor counts as collinear with others. The R² is that of a regression of the
# factor's column on the columns of the other factors. R² = 0.9 is a variance inflation factor of
# 10.
MOST_EXPLAINED = 0.9
NOTHING = 0.01
WIDE = 0.1
# Numbers of random repetitions. ROW_RESAMPLES is the number of bootstrap samples of the rows.
# FEW_RESAMPLES is the number of resamples for PAWN and for RBD-FAST. SHUFFLES is how often a
# factor's column is shuffled.
ROW_RESAMPLES, FEW_RESAMPLES, SHUFFLES = 100, 30, 10
# Number of harmonics of RBD-FAST.
HARMONICS = 4


def paper_importance(
    levels: np.ndarray, values: np.ndarray, names: Sequence[str], seed: int
) -> dict[str, Metric]:
    """Returns the importance of each factor as Kumar 2018 defines it, with an interval. The
    importance of factor i is VI_i = S_i / sum_j S_j (equation 7).

    S_i is the first-order index of factor i over the measured rows. If all S_i are 0, so are all
    VI_i.
    """
    return _bootstrapped(levels, values, names, seed, _shares)


def _shares(levels: np.ndarray, values: np.ndarray) -> np.ndarray:
    found = np.array([first_order(levels[:, i], values) for i in range(levels.shape[1])])
    return np.asarray(found / found.sum()) if found.sum() else found


def pawn(
    levels: np.ndarray, values: np.ndarray, names: Sequence[str], seed: int
) -> dict[str, Metric]:
    """Returns the PAWN index of each factor x_i with an interval. The index states how much the
    distribution of `values` changes if x_i is known.

    The levels of x_i are divided into PAWN_SLICES slices. The index is the median over the slices
    of the Kolmogorov-Smirnov distance between the distribution of `values` in the slice and their
    distribution over all rows.
    """
    problem = _problem(names, levels)

    def of(some: np.ndarray, answer: np.ndarray) -> np.ndarray:
        return np.array(salib_pawn.analyze(problem, some, answer, S=PAWN_SLICES)["median"])

    return _bootstrapped(levels, values, names, seed, of, repeats=FEW_RESAMPLES)


def rbd_fast(
    levels: np.ndarray, values: np.ndarray, names: Sequence[str], seed: int
) -> dict[str, Metric]:
    """Returns the first-order index of each factor x_i by RBD-FAST. This method sorts the rows by
    x_i and then computes the index from the spectrum of `values`. Rows with the same level are in
    random order."""
    random = np.random.default_rng(seed)
    problem = _problem(names, levels)

    def of(some: np.ndarray, answer: np.ndarray) -> np.ndarray:
        spread = some + random.uniform(-0.5, 0.5, some.shape)
        found = salib_rbd_fast.analyze(problem, spread, answer, M=HARMONICS, num_resamples=2)["S1"]
        shares: np.ndarray = np.clip(np.array(found, dtype=float), 0.0, 1.0)
        return shares

    return _bootstrapped(levels, values, names, seed, of, repeats=FEW_RESAMPLES)


class Problem(TypedDict):
    """SALib's description of the factors: their number, names and bounds."""

    num_vars: int
    names: list[str]
    bounds: list[list[float]]


def _problem(names: Sequence[str], levels: np.ndarray) -> Problem:
    bounds = [[float(column.min()) - 0.5, float(column.max()) + 0.5] for column in levels.T]
    return {"num_vars": len(names), "names": list(names), "bounds": bounds}


def _bootstrapped(
    levels: np.ndarray,
    values: np.ndarray,
    names: Sequence[str],
    seed: int,
    measure: Callable[[np.ndarray, np.ndarray], np.ndarray],
    repeats: int = ROW_RESAMPLES,
) -> dict[str, Metric]:
    """The result of `measure` for each factor, with an interval from `repeats` bootstrap samples
    of the rows."""
    random = np.random.default_rng(seed)
    found = [measure(levels, values)]
    for _ in range(repeats):
        chosen = random.integers(len(values), size=len(values))
        if np.ptp(values[chosen]) > 0:
            found.append(measure(levels[chosen], values[chosen]))
    table = np.array(found)
    return {name: metric_of(table[:, i]) for i, name in enumerate(names)}


def permutation(
    predict: Callable[[Floats], Floats],
    matrix: Floats,
    target: Floats,
    owner: Integers,
    names: Sequence[str],
    seed: int,
) -> dict[str, Metric]:
    """Returns the importance of each factor by permutation. The importance is the increase of the
    mean |error| of the log rate if the factor's columns are shuffled.

    `owner`: for each column of `matrix`, the index of its factor. `target`: measured log rates.
    """
    random = np.random.default_rng(seed)
    before = float(np.abs(predict(matrix) - target).mean())
    found = {}
    for index, name in enumerate(names):
        grown = []
        for _ in range(SHUFFLES):
            shuffled = matrix.copy()
            columns = np.flatnonzero(owner == index)
            shuffled[:, columns] = matrix[random.permutation(len(matrix))][:, columns]
            grown.append(float(np.abs(predict(shuffled) - target).mean()) - before)
        found[name] = metric_of(np.array([np.mean(grown), *grown]))
    return found


def shapley(
    model: Any, matrix: Floats, owner: Integers, names: Sequence[str], seed: int
) -> dict[str, Metric]:
    """For each factor, the mean |SHAP value| of a tree model, in units of log rate.

    `owner`: for each column of `matrix`, the index of its factor.
    """
    import shap  # imported here, because the library compiles code when it is imported

    values: Floats = shap.TreeExplainer(model).shap_values(matrix)
    by_factor = np.column_stack([values[:, owner == i].sum(axis=1) for i in range(len(names))])
    random = np.random.default_rng(seed)
    found = [np.abs(by_factor).mean(axis=0)]
    for _ in range(ROW_RESAMPLES):
        chosen = random.integers(len(by_factor), size=len(by_factor))
        found.append(np.abs(by_factor[chosen]).mean(axis=0))
    table = np.array(found)
    return {name: metric_of(table[:, i]) for i, name in enumerate(names)}


def moves_with(matrix: Floats, owner: Integers, names: Sequence[str]) -> dict[str, str]:
    """Returns a dictionary that has each factor that is collinear with others in the measured runs.
    Its value is the other factor with which it is most correlated."""
    found = {}
    centred: Floats = matrix - matrix.mean(axis=0)
    for index, name in enumerate(names):
        own, others = centred[:, owner == index], centred[:, owner != index]
        if own.shape[1] == 0 or not others.shape[1]:
            continue
        left = own - others @ np.linalg.lstsq(others, own, rcond=None)[0]
        explained: Floats = 1 - (left**2).sum(axis=0) / np.maximum((own**2).sum(axis=0), 1e-12)
        if explained.max() > MOST_EXPLAINED:
            column = own[:, int(np.argmax(explained))]
            related: Floats = np.abs(others.T @ column) / np.maximum(
                np.sqrt((others**2).sum(axis=0)), 1e-12
            )
            partner = owner[owner != index][int(np.argmax(related))]
            found[name] = names[int(partner)]
    return found


def verdict(importance: FactorImportance, partner: str | None) -> str:
    """Returns a text that states what the data show about a factor. `partner`: the factor with
    which this factor is collinear, or another reason why its effect cannot be identified; None if
    the effect can be identified."""
    if partner is not None:
        return f"not identifiable: collinear with {partner} in these runs"
    low, high = importance.total.low or 0.0, importance.total.high or 0.0
    if high < NOTHING:
        return "no effect"
    if low < NOTHING and high > WIDE:
        return "not identifiable: these runs leave the effect open"
    return "small" if importance.total.value < WIDE / 2 else "matters"
