"""Chooses which legal configurations of a design to run, in which order, and at what cost.

A testbed is a deployment with a file system. Testbeds are slow to start, so several workloads are
run on each testbed (a split-plot design). A plan takes the most informative testbeds first, and the
most informative workloads for each testbed, so that a small budget buys the most informative runs.
A scenario and its seed determine the plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dfslab.models.tree.prediction import Situation
from dfslab.spec.design import Factor, LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies.designs.legal import DesignRow, Legal, legal

# Overhead in seconds for the start of each testbed, for each of its hosts, and for each run. The
# values were measured on a machine with two cores.
TESTBED_S, HOST_S, RUN_S = 4.0, 0.5, 0.8
MOST_CANDIDATES = 1500
MOST_TESTBEDS = 400
# Added to the diagonal of the information matrix, so that the matrix can be inverted.
PRIOR = 1e-3
EXCHANGES = 2


@dataclass(frozen=True)
class Bill:
    """The cost of a plan. `testbed_s` and `run_s`: seconds of all testbed starts and of all
    runs."""

    testbeds: int
    runs: int
    testbed_s: float
    run_s: float
    longest_run_s: float

    @property
    def total_s(self) -> float:
        """Seconds of all testbed starts and runs in sequence."""
        return self.testbed_s + self.run_s


@dataclass(frozen=True)
class DesignPlan:
    """The chosen rows of a design (one row for each configuration), grouped by testbed in running
    order, and their cost."""

    scenario: Scenario
    legal: Legal
    testbeds: tuple[tuple[DesignRow, ...], ...]
    bill: Bill

    @property
    def rows(self) -> list[DesignRow]:
        """The rows of all testbeds in running order."""
        return [row for testbed in self.testbeds for row in testbed]


def plan(scenario: Scenario) -> DesignPlan:
    """Chooses the runs of a design.

    Raises InputError if no row is legal or if the budget does not suffice for one testbed.
    """
    design = scenario.design
    allowed = legal(scenario)
    chosen = choose(allowed, design.kind, design.testbeds, design.per_testbed, scenario.run.seed)
    testbeds, bill = _within(scenario, allowed, chosen)
    random = np.random.default_rng(scenario.run.seed)
    order = random.permutation(len(testbeds))
    mixed = tuple(
        tuple(testbeds[b][i] for i in random.permutation(len(testbeds[b]))) for b in order
    )
    rows = [allowed.values(row) for testbed in mixed for row in testbed]
    return DesignPlan(scenario.with_rows(rows), allowed, mixed, bill)


def planned(scenario: Scenario) -> Scenario:
    """Returns the scenario with its design replaced by the planned configurations.

    A scenario without a design, or with a sweep, is returned unchanged.
    """
    if not scenario.design.factor or scenario.sweep:
        return scenario
    return plan(scenario).scenario


def _within(
    scenario: Scenario, allowed: Legal, chosen: Sequence[Sequence[DesignRow]]
) -> tuple[list[tuple[DesignRow, ...]], Bill]:
    """Returns (rows, cost) of the testbeds that fit into the budget. The testbeds are taken in the
    order of `chosen`. Raises InputError if the first testbed alone exceeds the budget."""
    budget = scenario.design.budget or math.inf
    repetitions, passes = scenario.run.repetitions, scenario.design.blocks
    testbeds: list[tuple[DesignRow, ...]] = []
    testbed_s = run_s = longest = 0.0
    for rows in chosen:
        costs = [run_cost_s(scenario.with_values(allowed.values(row))) for row in rows]
        start = testbed_cost_s(scenario.with_values(allowed.values(rows[0])))
        start *= min(passes, repetitions)
        if testbed_s + start + run_s + sum(costs) * repetitions > budget:
            break
        testbeds.append(tuple(rows))
        testbed_s, run_s = testbed_s + start, run_s + sum(costs) * repetitions
        longest = max(longest, *costs)
    if not testbeds:
        raise InputError("design.budget", f"{budget:g} s", "is less than the first testbed needs")
    runs = repetitions * sum(len(rows) for rows in testbeds)
    return testbeds, Bill(len(testbeds) * min(passes, repetitions), runs, testbed_s, run_s, longest)


def testbed_cost_s(scenario: Scenario) -> float:
    """Estimated seconds to start the testbed of a configuration; 0 for a file system that needs
    no testbed."""
    hosts = len(scenario.deployment.nodes())
    return TESTBED_S + HOST_S * hosts if scenario.file_system.access.testbed else 0.0


def run_cost_s(scenario: Scenario) -> float:
    """Estimates the seconds of one run by the uncalibrated model, including RUN_S of overhead.

    If the run reads files, the time to create them is added. The model assumes that creating
    them takes as long as the operations themselves. The time without RUN_S is at most twice
    the time limit of a run.
    """
    situation = Situation(scenario)
    prediction = situation.predict(situation.constants)
    prepares = any(name not in ("write", "create") for name in situation.mix)
    seconds = situation.operations / prediction.rate_per_s * (2.0 if prepares else 1.0)
    return RUN_S + float(min(seconds, 2 * scenario.run.time_limit))


def choose(
    allowed: Legal, kind: str, testbeds: int, per_testbed: int, seed: int
) -> list[tuple[DesignRow, ...]]:
    """Returns the rows of each testbed for a design of the given kind.

    Testbeds of D-optimal and screening designs are ordered by information, the most informative
    first. `testbeds`: number of testbeds; 0 for the default. `per_testbed`: runs on each
    testbed. The design "full" ignores both numbers and has all legal rows."""
    random = np.random.default_rng(seed)
    hard, soft = allowed.part(hard=True), allowed.part(hard=False)
    if kind == "full":
        return _grouped(allowed.rows(), hard)
    if kind == "latin":
        return _latin(allowed, hard, testbeds or MOST_TESTBEDS, per_testbed, random)
    candidates = _candidates(allowed, random)
    coding = Coding(allowed.factors, extremes=kind == "screening")
    if kind == "screening":
        candidates = [row for row in candidates if coding.is_extreme(row)] or candidates
        testbeds = testbeds or _screening_testbeds(coding, per_testbed, bool(hard))
    if not hard:
        return [tuple(d_optimal(coding, candidates, max(testbeds, 1) * per_testbed))]
    if not soft:
        return [(row,) for row in d_optimal(coding, candidates, testbeds or MOST_TESTBEDS)]
    return _split_plot(coding, candidates, hard, soft, testbeds or MOST_TESTBEDS, per_testbed)


def _screening_testbeds(coding: Coding, per_testbed: int, has_testbeds: bool) -> int:
    """Returns the number of testbeds of a screening design: the smallest number that meets two
    conditions:
    - All testbeds together have at least as many runs as the smallest multiple of four that
      exceeds the number of main effects.
    - There are more testbeds than main effects of the factors that are fixed per testbed.

    Returns 1 if no testbeds have to be started (`has_testbeds` is false)."""
    runs = 4 * math.ceil((coding.columns + 1) / 4)
    return max(math.ceil(runs / per_testbed), coding.hard_columns + 1) if has_testbeds else 1


def _grouped(rows: Sequence[DesignRow], hard: Sequence[int]) -> list[tuple[DesignRow, ...]]:
    groups: dict[tuple[int, ...], list[DesignRow]] = {}
    for row in rows:
        groups.setdefault(tuple(row[i] for i in hard), []).append(row)
    return [tuple(group) for group in groups.values()]


def _latin(
    allowed: Legal,
    hard: Sequence[int],
    testbeds: int,
    per_testbed: int,
    random: np.random.Generator,
) -> list[tuple[DesignRow, ...]]:
    """Draws legal rows by Latin hypercube sampling. Returns the distinct rows of each testbed.

    A block is a set of factors that constraints make dependent on each other. For each block,
    the samples are spread evenly over its legal combinations of levels. Blocks with a factor of
    `hard` are sampled once for each testbed, all other blocks once for each run. `hard`: indices
    of the factors that are fixed per testbed.
    """
    on_testbed = [set(members) & set(hard) != set() for members, _ in allowed.blocks]
    import scipy

    strata = scipy.stats.qmc.LatinHypercube(d=len(on_testbed), rng=random)
    above, within = strata.random(testbeds), strata.random(testbeds * per_testbed)
    # A row that is drawn twice is used only once.
    found: dict[tuple[int, ...], dict[DesignRow, None]] = {}
    for testbed in range(testbeds):
        for run in range(per_testbed):
            shares = np.where(on_testbed, above[testbed], within[testbed * per_testbed + run])
            row = allowed.at(shares)
            found.setdefault(tuple(row[i] for i in hard), {})[row] = None
    return [tuple(group) for group in found.values()]


def _candidates(allowed: Legal, random: np.random.Generator) -> list[DesignRow]:
    if allowed.size <= MOST_CANDIDATES:
        return allowed.rows()
    return list(dict.fromkeys(allowed.sample(MOST_CANDIDATES, random)))


class Coding:
    """Translates rows of a design to the columns of a linear model. The main effect of a factor has
    one or more columns. A numeric factor with three or more levels also has a column for its
    square; if `extremes` is true, no factor has this column."""

    def __init__(self, factors: Sequence[Factor], extremes: bool = False) -> None:
        self._tables = [_coded(factor, curved=not extremes) for factor in factors]
        self._ends = [{0, len(factor.levels) - 1} for factor in factors]
        self.columns = sum(table.shape[1] for table in self._tables)
        self.hard_columns = sum(
            table.shape[1] for table, f in zip(self._tables, factors, strict=True) if f.is_hard
        )

    def matrix(self, rows: Sequence[DesignRow]) -> np.ndarray:
        """Returns the model matrix of shape (rows, 1 + columns). The first column is the constant;
        all values are in [-1, 1]."""
        parts = [np.ones((len(rows), 1))]
        levels = np.array(rows, dtype=int)
        parts += [table[levels[:, i]] for i, table in enumerate(self._tables)]
        return np.hstack(parts)

    def is_extreme(self, row: DesignRow) -> bool:
        """Whether every factor is at its first or last level."""
        return all(level in ends for level, ends in zip(row, self._ends, strict=True))


def scaled(factor: Factor) -> np.ndarray | None:
    """Returns the levels of a factor, scaled to [-1, 1]; None if the levels are names, or if there
    are fewer than two levels. The scale is logarithmic if all levels are positive."""
    numbers = factor.numbers
    if numbers is None or len(numbers) < 2:
        return None
    shown = np.log2(numbers) if min(numbers) > 0 else np.array(numbers)
    low, high = float(shown.min()), float(shown.max())
    return 2 * (shown - low) / (high - low) - 1


def _coded(factor: Factor, curved: bool) -> np.ndarray:
    """Returns the values that code a factor's levels in the linear model, as an array of shape
    (levels, terms of the factor). If `curved` is true, a numeric factor with three or more
    levels also has a quadratic term."""
    count = len(factor.levels)
    line = scaled(factor)
    if line is None:
        # Effect coding: the last named level is coded as -1 in all columns.
        return (
            np.vstack([np.eye(count - 1), -np.ones((1, count - 1))])
            if count > 1
            else (np.zeros((1, 0)))
        )
    if count < 3 or not curved:
        return line[:, None]
    return np.column_stack([line, 2 * line**2 - 1])


class _Information:
    """The inverse of the information matrix X'X of the chosen rows, where X is their model matrix.
    The inverse is updated whenever a row is added or removed."""

    def __init__(self, columns: int) -> None:
        self.inverse = np.eye(columns) / PRIOR

    def gain(self, matrix: np.ndarray) -> np.ndarray:
        """Returns the relative increase of det(X'X) that each row of `matrix` would cause if it
        were added. X is the model matrix of the rows chosen so far."""
        gains: np.ndarray = np.einsum("ij,jk,ik->i", matrix, self.inverse, matrix)
        return gains

    def add(self, row: np.ndarray, sign: float = 1.0) -> None:
        """Updates the inverse of X'X by the Sherman-Morrison formula. If `sign` is 1, the row is
        added to X; if `sign` is -1, it is removed.
        """
        moved = self.inverse @ row
        self.inverse -= sign * np.outer(moved, moved) / (1 + sign * row @ moved)


def d_optimal(coding: Coding, candidates: Sequence[DesignRow], count: int) -> list[DesignRow]:
    """Chooses `count` D-optimal rows: a greedy selection, improved by exchanges of rows (Fedorov
    1972)."""
    matrix = coding.matrix(candidates)
    known = _Information(matrix.shape[1])
    free = np.ones(len(candidates), dtype=bool)
    chosen: list[int] = []
    for _ in range(min(count, len(candidates))):
        best = int(np.argmax(np.where(free, known.gain(matrix), -np.inf)))
        chosen.append(best)
        free[best] = False
        known.add(matrix[best])
    for _ in range(EXCHANGES):
        for place, old in enumerate(chosen):
            known.add(matrix[old], -1.0)
            free[old] = True
            best = int(np.argmax(np.where(free, known.gain(matrix), -np.inf)))
            chosen[place] = best
            free[best] = False
            known.add(matrix[best])
    return [candidates[index] for index in chosen]


def _split_plot(
    coding: Coding,
    candidates: Sequence[DesignRow],
    hard: Sequence[int],
    soft: Sequence[int],
    testbeds: int,
    per_testbed: int,
) -> list[tuple[DesignRow, ...]]:
    """Builds a split-plot design greedily. Each step adds the testbed that increases the
    information most, together with its most informative workloads. Returns the rows of each
    testbed."""
    tops = list(dict.fromkeys(tuple(row[i] for i in hard) for row in candidates))
    bottoms = list(dict.fromkeys(tuple(row[i] for i in soft) for row in candidates))
    known = _Information(coding.columns + 1)
    tables = _tables(coding, tops, bottoms, hard, soft)
    found = []
    for _ in range(min(testbeds, len(tops))):
        middle = tables.upper[tables.free] + tables.lower.mean(axis=0)
        top = int(tables.free[np.argmax(known.gain(middle))])
        tables.free = tables.free[tables.free != top]
        rows = tables.upper[top] + tables.lower
        left = np.ones(len(bottoms), dtype=bool)
        group = []
        for _ in range(min(per_testbed, len(bottoms))):
            best = int(np.argmax(np.where(left, known.gain(rows), -np.inf)))
            left[best] = False
            known.add(rows[best])
            group.append(_joined(tops[top], bottoms[best], hard, soft))
        found.append(tuple(group))
    return found


@dataclass
class _Tables:
    """The model matrix of a split-plot design, stored in two parts: one row for each testbed
    (`upper`), and one row for each workload (`lower`). The matrix row of a run is the sum of its
    testbed's row and its workload's row.

    `free`: indices of the testbeds that are not chosen yet.
    """

    upper: np.ndarray
    lower: np.ndarray
    free: np.ndarray


def _tables(
    coding: Coding,
    tops: Sequence[DesignRow],
    bottoms: Sequence[DesignRow],
    hard: Sequence[int],
    soft: Sequence[int],
) -> _Tables:
    upper = coding.matrix([_joined(top, bottoms[0], hard, soft) for top in tops])
    both = coding.matrix([_joined(tops[0], bottom, hard, soft) for bottom in bottoms])
    return _Tables(upper, both - both[0], np.arange(len(tops)))


def _joined(
    top: DesignRow, bottom: DesignRow, hard: Sequence[int], soft: Sequence[int]
) -> DesignRow:
    row = dict(zip(hard, top, strict=True)) | dict(zip(soft, bottom, strict=True))
    return tuple(row[index] for index in range(len(row)))


def labels(allowed: Legal, row: DesignRow) -> dict[str, LevelValue]:
    """Returns a dictionary from the name of each factor to its level in a row, for display."""
    return {
        factor.name: level[0] if isinstance(level := factor.levels[i], list) else level
        for factor, i in zip(allowed.factors, row, strict=True)
    }
