"""Sensitivity analysis: variance-based indices of a model over the legal set, and indices of
measured data alone.

Y is the log rate (for the paper's importance VI: the rate), x_i the level of factor i, E and V the
mean and variance over the legal rows. The first-order index is V(E(Y | x_i)) / V(Y). The total
index is E(V(Y | the other factors)) / V(Y), where x_i is drawn again from its legal levels given
the others (Kucherenko 2012). For independent factors these are Sobol's indices. Factors in a common
constraint (servers and copies) are dependent. A dependent factor's first-order index includes
effects shared with its partners, so it may exceed the total index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from SALib.analyze import pawn as salib_pawn
from SALib.analyze import rbd_fast as salib_rbd_fast
from SALib.analyze import sobol as salib_sobol
from SALib.sample import sobol as salib_sample

from dfslab.arrays import Floats, Integers
from dfslab.method import CONFIDENCE
from dfslab.result import Metric
from dfslab.studies.designs.legal import DesignRow, Legal
from dfslab.studies.designs.lessons import FactorImportance

RESAMPLES = 200
# Number of slices of PAWN. A power of two, because SALib rounds quantile levels beyond 1 for other
# numbers.
PAWN_SLICES = 4
# If the other factors' columns explain a factor's column with this R² or more, the factor is
# collinear with them. R² = 0.9 is a variance inflation factor of 10.
MOST_EXPLAINED = 0.9
NOTHING = 0.01
WIDE = 0.1
# Numbers of resamples: of the rows, of a model and its refits, and of PAWN and RBD-FAST. The last
# number is how often a factor's column is shuffled.
ROW_RESAMPLES, REFIT_RESAMPLES, FEW_RESAMPLES, SHUFFLES = 100, 50, 30, 10
# Number of harmonics of RBD-FAST.
HARMONICS = 4


@dataclass(frozen=True)
class Sample:
    """Legal rows from which the indices are computed.

    `base`: the base rows. `redrawn`: for each factor, the base rows with that factor's level drawn
    again.
    """

    factors: int
    base: list[DesignRow]
    redrawn: list[list[DesignRow]]

    @property
    def rows(self) -> list[DesignRow]:
        """All rows: first the base rows, then, for each factor, the rows in which that factor
        was drawn again."""
        return [*self.base, *(row for rows in self.redrawn for row in rows)]


def sample(legal: Legal, count: int, seed: int) -> Sample:
    """Draws `count` base rows from the legal set, and for each factor a copy of them in which
    that factor's level is drawn again."""
    random = np.random.default_rng(seed)
    base = legal.sample(count, random)
    redrawn = []
    for index in range(len(legal.factors)):
        members, rows = next(block for block in legal.blocks if index in block[0])
        place = members.index(index)
        neighbours: dict[DesignRow, list[int]] = {}
        for row in rows:
            neighbours.setdefault(row[:place] + row[place + 1 :], []).append(row[place])
        changed = []
        for row in base:
            others = tuple(row[m] for m in members if m != index)
            level = int(random.choice(neighbours[others]))
            changed.append((*row[:index], level, *row[index + 1 :]))
        redrawn.append(changed)
    return Sample(len(legal.factors), base, redrawn)


def first_order(levels: np.ndarray, values: np.ndarray) -> float:
    """The first-order index V(E(Y | x)) / V(Y) of a factor, minus the value expected if it had no
    effect.

    `levels`: the factor's level x in each row. `values`: Y in each row.
    """
    total = float(values.var())
    if total <= 0:
        return 0.0
    numbers = np.unique(levels, return_inverse=True)[1]
    counts = np.bincount(numbers)
    means = np.bincount(numbers, weights=values) / counts
    between = float(counts @ (means - values.mean()) ** 2)
    within = float(((values - means[numbers]) ** 2).sum())
    freedom = len(values) - len(counts)
    chance = (len(counts) - 1) * within / freedom if freedom > 0 else 0.0
    return max(0.0, (between - chance) / len(values) / total)


def total_order(values: np.ndarray, redrawn: np.ndarray, variance: float) -> float:
    """The total index E(V(Y | the other factors)) / V(Y) by Jansen's estimator; 0 if `variance` is
    0.

    `values` and `redrawn`: Y at the base rows, and at the same rows with the factor drawn again.
    `variance`: V(Y).
    """
    return float(((values - redrawn) ** 2).mean() / 2 / variance) if variance > 0 else 0.0


def indices(
    drawn: Sample,
    answers: Sequence[np.ndarray],
    names: Sequence[str],
    seed: int,
    keep: Callable[[DesignRow], bool] = lambda row: True,
) -> list[FactorImportance]:
    """Indices of a model for each factor, with intervals.

    `answers`: predictions at `drawn.rows`, first of the model, then of its refits. The first array
    gives the estimates. The intervals include the variance between the fits and the variance of
    sampling. Only rows for which `keep` is true are used.
    """
    random = np.random.default_rng(seed)
    levels = np.array(drawn.rows)
    kept = np.array([keep(row) for row in drawn.rows])
    count = len(drawn.base)
    whole = [_both(drawn, answers[0], levels, kept, np.arange(count))]
    for repeat in range(REFIT_RESAMPLES):
        answer = answers[repeat % len(answers)]
        chosen = random.integers(count, size=count)
        whole.append(_both(drawn, answer, levels, kept, chosen))
    found = np.array(whole)
    shares = found[:, 0] / np.maximum(found[:, 0].sum(axis=1, keepdims=True), 1e-12)
    return [
        FactorImportance(
            factor=name,
            first_order=_metric(found[:, 0, i]),
            total=_metric(found[:, 1, i]),
            share=_metric(shares[:, i]),
        )
        for i, name in enumerate(names)
    ]


def _both(
    drawn: Sample, answer: np.ndarray, levels: np.ndarray, kept: np.ndarray, chosen: np.ndarray
) -> np.ndarray:
    """First-order and total indices of all factors, of shape (2, factors), from the `chosen` base
    rows only.

    `answer`: predictions at all rows; `kept`: mask of the rows to use.
    """
    count = len(drawn.base)
    places = np.concatenate([chosen + count * part for part in range(drawn.factors + 1)])
    places = places[kept[places]]
    if len(places) < 2:
        return np.zeros((2, drawn.factors))
    variance = float(answer[places].var())
    base = chosen[kept[chosen]]
    first, total = [], []
    for index in range(drawn.factors):
        first.append(first_order(levels[places, index], answer[places]))
        other = base + count * (index + 1)
        both = kept[other]
        total.append(
            total_order(answer[base[both]], answer[other[both]], variance) if both.any() else 0.0
        )
    return np.array([first, total])


def _metric(values: np.ndarray) -> Metric:
    """A metric from an array whose first value is the estimate and whose other values are
    resamples."""
    low, high = np.quantile(values, [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2])
    value = float(values[0])
    return Metric(value=value, low=min(float(low), value), high=max(float(high), value))


def blocks(
    legal: Legal, predict: Callable[[list[DesignRow]], np.ndarray], count: int, seed: int
) -> dict[str, tuple[Metric, Metric]]:
    """(first-order, total) Sobol indices, by SALib, of the independent blocks of factors.

    A block of factors that constraints tie together ("servers, copies") counts as one input.
    `predict` returns the prediction at each row; `count`: number of base rows.
    """
    names = [", ".join(legal.factors[i].name for i in members) for members, _ in legal.blocks]
    problem = {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
    shares = salib_sample.sample(problem, count, calc_second_order=False, seed=seed)
    answer = predict([legal.at(row) for row in shares])
    return dict(zip(names, sobol(problem, answer, seed), strict=True))


def sobol(problem: Mapping[str, Any], answer: np.ndarray, seed: int) -> list[tuple[Metric, Metric]]:
    """SALib's (first-order, total) index of each input, with 90 % intervals.

    All are 0 if `answer` is constant.
    """
    if float(np.ptp(answer)) == 0.0:
        return [(Metric(value=0.0, low=0.0, high=0.0),) * 2 for _ in problem["names"]]
    found = salib_sobol.analyze(
        dict(problem),
        answer,
        calc_second_order=False,
        num_resamples=RESAMPLES,
        conf_level=CONFIDENCE,
        seed=seed,
    )
    return [
        (Metric(value=s1, low=s1 - c1, high=s1 + c1), Metric(value=st, low=st - ct, high=st + ct))
        for s1, c1, st, ct in zip(
            *(map(float, found[key]) for key in ("S1", "S1_conf", "ST", "ST_conf")), strict=True
        )
    ]


def paper_importance(
    levels: np.ndarray, values: np.ndarray, names: Sequence[str], seed: int
) -> dict[str, Metric]:
    """Kumar 2018's importance VI_i = S_i / sum_j S_j (equation 7) of each factor i, with intervals.

    S_i is the first-order index of factor i over the measured rows.
    """
    return _bootstrapped(levels, values, names, seed, _shares)


def _shares(levels: np.ndarray, values: np.ndarray) -> np.ndarray:
    found = np.array([first_order(levels[:, i], values) for i in range(levels.shape[1])])
    return np.asarray(found / found.sum()) if found.sum() else found


def pawn(
    levels: np.ndarray, values: np.ndarray, names: Sequence[str], seed: int
) -> dict[str, Metric]:
    """PAWN index of each factor x_i: how much the distribution of Y changes if x_i is known.

    The index is the median over the levels of x_i.
    """
    problem = _problem(names, levels)

    def of(some: np.ndarray, answer: np.ndarray) -> np.ndarray:
        return np.array(salib_pawn.analyze(problem, some, answer, S=PAWN_SLICES)["median"])

    return _bootstrapped(levels, values, names, seed, of, repeats=FEW_RESAMPLES)


def rbd_fast(
    levels: np.ndarray, values: np.ndarray, names: Sequence[str], seed: int
) -> dict[str, Metric]:
    """First-order index of each factor x_i by RBD-FAST: from the spectrum of Y after sorting the
    rows by x_i. Rows with the same level are in random order."""
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
    return {name: _metric(table[:, i]) for i, name in enumerate(names)}


def permutation(
    predict: Callable[[Floats], Floats],
    matrix: Floats,
    target: Floats,
    owner: Integers,
    names: Sequence[str],
    seed: int,
) -> dict[str, Metric]:
    """Importance by permutation: for each factor, the increase of the mean |error| of the log rate
    if the factor's columns are shuffled.

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
        found[name] = _metric(np.array([np.mean(grown), *grown]))
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
    return {name: _metric(table[:, i]) for i, name in enumerate(names)}


def moves_with(matrix: Floats, owner: Integers, names: Sequence[str]) -> dict[str, str]:
    """Factor -> the other factor with which it is most correlated.

    Only factors that are collinear with others in the measured runs are included.
    """
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
    """A text that states what the data show about a factor."""
    if partner is not None:
        return f"not identifiable: it moves with {partner} in these runs"
    low, high = importance.total.low or 0.0, importance.total.high or 0.0
    if high < NOTHING:
        return "no effect"
    if low < NOTHING and high > WIDE:
        return "not identifiable: these runs leave open whether it matters"
    return "small" if importance.total.value < WIDE / 2 else "matters"
