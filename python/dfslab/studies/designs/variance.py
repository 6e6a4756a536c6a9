"""Variance-based sensitivity indices of a model over the legal set of a design, with intervals.

Y is the log rate, and x_i is the level of factor i. E and V are the mean and the variance over the
legal rows. The first-order index is V(E(Y | x_i)) / V(Y). The total index is E(V(Y | the other
factors)) / V(Y). For the total index, x_i is drawn again from its legal levels given the levels of
the other factors (Kucherenko 2012). For independent factors these are Sobol's indices.

Factors in a common constraint (servers and copies) form a block and are dependent. The first-order
index of a dependent factor includes effects shared with its block, so it may exceed the total
index. Blocks are independent of each other. The first-order indices of all blocks therefore sum to
at most 1, and the remainder to 1 is due to interaction between blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dfslab.arrays import Floats, Integers
from dfslab.method import CONFIDENCE
from dfslab.result import Metric
from dfslab.studies.designs.legal import DesignRow, Legal
from dfslab.studies.designs.lessons import FactorImportance

# Number of bootstrap samples of the rows. Each uses the predictions of one fit of the model.
REFIT_RESAMPLES = 50
# Least number of rows for each column of an additive regression. The regression removes the effects
# of other blocks. With fewer rows, it would add more noise than it removes.
ROWS_PER_COLUMN = 4

# A block: the indices of factors that constraints make dependent on each other.
Block = tuple[int, ...]


@dataclass(frozen=True)
class Sample:
    """Legal rows from which the indices are computed.

    `base`: rows drawn uniformly from the legal set, stratified by block. `blocks`: all blocks of
    factors, including blocks of a single factor. `redrawn`: copies of the first rows of `base` for
    each input; in the copies, only this input is drawn again. An input is a factor or a block of
    several factors (`tied`). The factors come first, the blocks after them.
    """

    blocks: tuple[Block, ...]
    base: list[DesignRow]
    redrawn: list[list[DesignRow]]

    @property
    def factors(self) -> int:
        """Number of factors."""
        return len(self.base[0])

    @property
    def tied(self) -> list[Block]:
        """The blocks of several factors."""
        return [block for block in self.blocks if len(block) > 1]

    @property
    def rows(self) -> list[DesignRow]:
        """All rows: first the base rows, then, for each input, its redrawn rows."""
        return [*self.base, *(row for rows in self.redrawn for row in rows)]


@dataclass(frozen=True)
class RegimeRows:
    """A subset of the legal rows, for which indices are computed separately.

    `keep` is true for the rows of the subset. `reads`: indices of the factors on which `keep`
    depends. Within the subset, these factors are dependent on each other.
    """

    name: str
    keep: Callable[[DesignRow], bool]
    reads: frozenset[int]


EVERYTHING = RegimeRows("everything", lambda row: True, frozenset())


@dataclass(frozen=True)
class Indices:
    """The indices of all inputs of a model.

    `blocks`: pair of (first-order, total) index for each block, by the block's name.
    `first_order_sum`: the sum of the blocks' first-order indices, at most 1 apart from estimation
    errors.
    """

    factors: list[FactorImportance]
    blocks: dict[str, tuple[Metric, Metric]]
    first_order_sum: Metric

    @property
    def refusal(self) -> str:
        """Returns why the indices must not be used; "" if they may be used.

        By definition, the first-order indices of all blocks sum to at most 1. If the 90 %
        interval of the estimated sum is entirely above 1, none of the indices is reliable.
        """
        total = self.first_order_sum
        if total.low is None or total.low <= 1.0:
            return ""
        return (
            f"the first-order indices of independent factors sum to {total.value:.2f} "
            f"({total.low:.2f} to {total.high:.2f}), although their sum is at most 1: "
            "importance is withheld"
        )


def sample(legal: Legal, count: int, pairs: int, seed: int) -> Sample:
    """Draws `count` base rows from the legal set by a Latin hypercube over its blocks.

    Some rows are then drawn a second time with only one input changed. An input is a factor, or
    a block of several factors. For each input, the first `pairs` base rows are repeated with new
    levels of this input.
    """
    random = np.random.default_rng(seed)
    # A Latin hypercube: every legal row of a block is drawn equally often, apart from rounding.
    shares = [(random.permutation(count) + random.random(count)) / count for _ in legal.blocks]
    base = [legal.at(row) for row in np.column_stack(shares)]
    redrawn = []
    for index in range(len(legal.factors)):
        members, rows = next(block for block in legal.blocks if index in block[0])
        place = members.index(index)
        neighbours: dict[DesignRow, list[int]] = {}
        for row in rows:
            neighbours.setdefault(row[:place] + row[place + 1 :], []).append(row[place])
        changed = []
        for row in base[:pairs]:
            others = tuple(row[m] for m in members if m != index)
            level = int(random.choice(neighbours[others]))
            changed.append((*row[:index], level, *row[index + 1 :]))
        redrawn.append(changed)
    blocks = tuple(tuple(members) for members, _ in legal.blocks)
    for members, rows in legal.blocks:
        if len(members) > 1:
            redrawn.append([_with(row, members, rows, random) for row in base[:pairs]])
    return Sample(blocks, base, redrawn)


def _with(
    row: DesignRow, members: Block, rows: Sequence[DesignRow], random: np.random.Generator
) -> DesignRow:
    """The row with the levels of the block `members` drawn again from the block's legal `rows`."""
    changed = list(row)
    for member, level in zip(members, rows[int(random.integers(len(rows)))], strict=True):
        changed[member] = level
    return tuple(changed)


def first_order(levels: Integers, values: Floats) -> float:
    """Returns the first-order index V(E(Y | x)) / V(Y) of a factor, corrected for chance; at least
    0. The correction subtracts the value that is expected if the factor has no effect.

    `levels`: the factor's level x in each row. `values`: Y in each row. Rows must be
    independent.
    """
    total = float(values.var())
    if total <= 0:
        return 0.0
    between, chance = _between(np.unique(levels, return_inverse=True)[1], values, 0)
    return max(0.0, (between - chance) / total)


def _between(numbers: Integers, values: Floats, used: int) -> tuple[float, float]:
    """Returns (variance between the groups `numbers`, the part of this variance that chance alone
    explains).

    The part by chance is v (L - 1) / n, for L groups with n rows in total. Here, v is the variance
    within the groups. This variance is estimated with n - L - `used` degrees of freedom, where
    `used` is the number of parameters that were fitted to `values` beforehand.
    """
    counts = np.bincount(numbers)
    means = np.bincount(numbers, weights=values) / np.maximum(counts, 1)
    between = float(counts @ (means - values.mean()) ** 2) / len(values)
    within = float(((values - means[numbers]) ** 2).sum())
    levels = int((counts > 0).sum())
    freedom = len(values) - levels - used
    chance = (levels - 1) * within / freedom / len(values) if freedom > 0 else 0.0
    return between, chance


def total_order(values: Floats, redrawn: Floats, variance: float) -> float:
    """Returns the total index E(V(Y | the other factors)) / V(Y) of a factor by Jansen's estimator;
    0 if `variance` is 0.

    `values`: Y at the base rows. `redrawn`: Y at the same rows with the factor drawn again.
    `variance`: V(Y).
    """
    return float(((values - redrawn) ** 2).mean() / 2 / variance) if variance > 0 else 0.0


def indices(
    drawn: Sample,
    answers: Sequence[Floats],
    names: Sequence[str],
    seed: int,
    regime: RegimeRows = EVERYTHING,
) -> Indices:
    """Returns the indices of a model for each factor and each block, with 90 % intervals.

    `answers`: predictions at `drawn.rows`. The first array is from the model and gives the
    estimates; the others are from the model's refits. The intervals include the variance between
    the fits and the variance of sampling. The intervals are computed as if rows were independent,
    so they are too wide for stratified rows. Only rows of the `regime` are used.
    """
    estimator = _Estimator(drawn, regime)
    random = np.random.default_rng(seed)
    every = [estimator.of(answer, None) for answer in answers]
    found = [_stacked(every[0].first, every[0].total, every[0].summed)]
    for repeat in range(REFIT_RESAMPLES):
        which = repeat % len(answers)
        again = estimator.of(answers[which], random)
        # A resample repeats rows, and this raises an index by `chance` on average. `chance` is
        # therefore subtracted a second time from the index of each resample.
        shift = every[which].chance
        summed = again.summed - float(shift[estimator.block_places].sum())
        found.append(_stacked(again.first - shift, again.total, summed))
    first, total = (np.clip([one[k] for one in found], 0.0, None) for k in (0, 1))
    sums = np.array([one[2][0] for one in found])
    shares = first[:, : drawn.factors]
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
    factors = [
        FactorImportance(
            factor=name,
            first_order=metric_of(first[:, i]),
            total=metric_of(total[:, i]),
            share=metric_of(shares[:, i]),
        )
        for i, name in enumerate(names)
    ]
    blocks = {
        ", ".join(names[i] for i in block): (metric_of(first[:, at]), metric_of(total[:, at]))
        for block, at in zip(drawn.blocks, estimator.block_places, strict=True)
    }
    return Indices(factors, blocks, metric_of(sums))


def _stacked(first: Floats, total: Floats, summed: float) -> tuple[Floats, Floats, Floats]:
    return first, total, np.array([summed])


def metric_of(values: Floats) -> Metric:
    """Returns a metric with a 90 % interval. The first of the `values` is the estimate; the others
    are resamples of it. The interval is given by the quantiles of all values."""
    low, high = np.quantile(values, [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2])
    value = float(values[0])
    return Metric(value=value, low=min(float(low), value), high=max(float(high), value))


@dataclass(frozen=True)
class _Estimate:
    """Estimates of the indices for all inputs, in arrays of shape (inputs,). Negative values are
    not clipped to 0.

    `chance`: the part of the first-order index that chance alone explains. `first`: the
    first-order indices after subtraction of `chance`. `total`: the total indices. `summed`: the
    sum of `first` over the blocks."""

    first: Floats
    total: Floats
    chance: Floats
    summed: float


class _Estimator:
    """Computes first-order and total indices of the inputs of a sample within a regime.

    First-order indices are computed from the base rows only. Redrawn rows repeat levels of base
    rows, so redrawn rows are not independent of base rows.

    The first-order index of an input x_i compares the means of Y between the levels of x_i. The
    additive effects of all other blocks are subtracted from Y beforehand. The subtraction leaves
    E(Y | x_i) unchanged, because the other blocks are independent of x_i. The subtraction reduces
    the differences between the means that are due to chance.
    """

    def __init__(self, drawn: Sample, regime: RegimeRows) -> None:
        kept = [regime.keep(row) for row in drawn.rows]
        count = len(drawn.base)
        self.base = np.flatnonzero(kept[:count])
        levels = np.array(drawn.base, dtype=int)[self.base].reshape(len(self.base), drawn.factors)
        inputs: list[Block] = [*((i,) for i in range(drawn.factors)), *drawn.tied]
        self.block_places = [inputs.index(block) for block in drawn.blocks]
        self.numbers = [
            np.unique(levels[:, list(members)], axis=0, return_inverse=True)[1].ravel()
            for members in inputs
        ]
        self.dummies, owners = _dummies(levels)
        mates = list(_mates(drawn.blocks, regime.reads))
        # Sets of factors are independent of each other. `sets` has the columns of each set. `own`
        # has, for each input, the columns of the set that contains the input.
        self.sets = [np.flatnonzero(np.isin(owners, mate)) for mate in mates]
        places = [next(i for i, mate in enumerate(mates) if one[0] in mate) for one in inputs]
        self.own = [self.sets[place] for place in places]
        self.pairs = []
        start = count
        for rows in drawn.redrawn:
            both = [i for i in range(len(rows)) if kept[i] and kept[start + i]]
            self.pairs.append((np.array(both, dtype=int), np.array(both, dtype=int) + start))
            start += len(rows)

    def of(self, answer: Floats, random: np.random.Generator | None) -> _Estimate:
        """Returns the estimates from all rows. If `random` is given, the estimates are from rows
        that are drawn with replacement. All estimates are 0 with fewer than two rows, or if all
        predictions are equal."""
        inputs = len(self.numbers)
        if len(self.base) < 2:
            return _Estimate(np.zeros(inputs), np.zeros(inputs), np.zeros(inputs), 0.0)
        chosen = _drawn(len(self.base), random)
        values = answer[self.base][chosen]
        if float(np.ptp(values)) <= 0.0:
            return _Estimate(np.zeros(inputs), np.zeros(inputs), np.zeros(inputs), 0.0)
        first, chance, variance = self._first(values, chosen)
        total = []
        for before, after in self.pairs:
            some = _drawn(len(before), random)
            total.append(
                total_order(answer[before][some], answer[after][some], variance)
                if len(some)
                else 0.0
            )
        first, chance = first / variance, chance / variance
        summed = float(first[self.block_places].sum())
        return _Estimate(first, np.array(total), chance, summed)

    def _first(self, values: Floats, chosen: Integers) -> tuple[Floats, Floats, float]:
        """Returns (explained variances, variances by chance, V(Y)). The first two are arrays with
        one value for each input. The explained variance of an input is the variance of the mean
        of Y among the input's levels, minus the variance by chance.

        V(Y) is the sum of the variances of all blocks' additive effects and of the residual.
        Covariances between blocks are left out: the effects of different blocks are independent,
        so a covariance in the sample is due to chance.
        """
        dummies = self.dummies[chosen]
        rows, columns = dummies.shape
        effects = np.zeros(columns)
        is_additive = 0 < ROWS_PER_COLUMN * columns <= rows
        if is_additive:
            # Solves the normal equations, which is fast because there are few columns. The
            # solution of least norm exists even if columns are linearly dependent.
            gram, right = dummies.T @ dummies, dummies.T @ (values - values.mean())
            effects = np.linalg.lstsq(gram, right, rcond=None)[0]
        without = values - dummies @ effects
        variance = float(without.var())
        if is_additive:
            variance *= rows / (rows - columns)
            variance += sum(float((dummies[:, own] @ effects[own]).var()) for own in self.sets)
        found = []
        for numbers, own in zip(self.numbers, self.own, strict=True):
            left = without + dummies[:, own] @ effects[own]
            used = columns - len(own) if is_additive else 0
            found.append(_between(numbers[chosen], left, used))
        between, chance = np.array(found).T
        return between - chance, chance, variance


def _drawn(count: int, random: np.random.Generator | None) -> Integers:
    return np.arange(count) if random is None else random.integers(count, size=count)


def _dummies(levels: Integers) -> tuple[Floats, Integers]:
    """Returns (columns, index of each column's factor). Each level of a factor has a dummy column,
    except the first level. The column is 1 in the rows in which the factor has this level, else
    0. The mean of the column is then subtracted."""
    columns, owners = [], []
    for index in range(levels.shape[1]):
        for level in np.unique(levels[:, index])[1:]:
            column = (levels[:, index] == level).astype(float)
            columns.append(column - column.mean())
            owners.append(index)
    if not columns:
        return np.zeros((len(levels), 0)), np.zeros(0, dtype=int)
    return np.column_stack(columns), np.array(owners)


def _mates(blocks: Sequence[Block], reads: frozenset[int]) -> Iterator[list[int]]:
    """Yields sets of factors. Factors of different sets are independent of each other. The first
    set has the factors of all blocks that contain a factor of `reads`; it may be empty. Each
    remaining block is one further set."""
    touched = [block for block in blocks if reads & set(block)]
    yield [index for block in touched for index in block]
    for block in blocks:
        if block not in touched:
            yield list(block)
