"""Finds the legal combinations of a design's factors, which are a subset of the full factorial
design."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from dfslab import discover
from dfslab.spec.check import check
from dfslab.spec.design import Design, Factor, Level, LevelValue, holds, names_in, number, shapes
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario

DesignRow = tuple[int, ...]
# A function that decides whether a combination of levels is legal. The combination maps the name of
# each factor to its level.
LegalityTest = Callable[[Mapping[str, Level]], bool]
# A constraint: the names of the factors that it reads, and the function that tests it.
Constraint = tuple[set[str], LegalityTest]
MOST_LISTED = 200_000


class Legal:
    """The legal rows of a design. A row has the index of a level for each factor.

    A block is a set of factors that constraints make dependent on each other. Blocks are
    independent of each other, so every combination of legal rows of the blocks is a legal row of
    the design. The legal rows of the design therefore need not be enumerated.
    """

    def __init__(
        self, design: Design, judged: Sequence[tuple[Sequence[str], LegalityTest]] = ()
    ) -> None:
        self.factors = tuple(design.factor)
        self._constraints = [(names_in(text), _constraint(text)) for text in design.constraints]
        self._constraints += [(set(names), judge) for names, judge in judged]
        self._place = {factor.name: index for index, factor in enumerate(self.factors)}

    @cached_property
    def blocks(self) -> list[tuple[tuple[int, ...], list[DesignRow]]]:
        """Returns all blocks. A block is a set of factors that constraints make dependent on each
        other. Each block is a pair (indices of its factors, legal rows of these factors). Raises
        InputError if a block has no legal row."""
        groups: list[set[int]] = [{index} for index in range(len(self.factors))]
        for names, _ in self._constraints:
            tied = {self._place[name] for name in names}
            touched = [group for group in groups if group & tied]
            groups = [g for g in groups if not g & tied] + ([set().union(*touched)] * bool(touched))
        found = []
        for group in sorted(groups, key=min):
            members = tuple(sorted(group))
            rows = list(self._block(members))
            if not rows:
                tied_names = ", ".join(self.factors[i].name for i in members)
                raise InputError("design.factor", None, f"no combination of {tied_names} is legal")
            found += [(part, list(dict.fromkeys(r))) for part, r in _parts(members, rows)]
        return sorted(found)

    def _block(self, members: Sequence[int]) -> Iterator[DesignRow]:
        own = {self.factors[index].name for index in members}
        constraints = [one for one in self._constraints if one[0] <= own]
        known: dict[tuple[int, tuple[int, ...]], bool] = {}
        names = [self.factors[index].name for index in members]
        for row in itertools.product(*(range(len(self.factors[i].levels)) for i in members)):
            levels = dict(zip(names, row, strict=True))
            if all(self._holds(k, one, levels, known) for k, one in enumerate(constraints)):
                yield row

    def _holds(
        self,
        index: int,
        constraint: Constraint,
        levels: Mapping[str, int],
        known: dict[tuple[int, tuple[int, ...]], bool],
    ) -> bool:
        """Whether the levels satisfy the constraint with this index.

        `known` caches results by the levels that the constraint reads.
        """
        names, judge = constraint
        chosen = tuple(levels[name] for name in sorted(names))
        if (index, chosen) not in known:
            shown = {name: self.factors[self._place[name]].levels[levels[name]] for name in names}
            known[index, chosen] = judge(shown)
        return known[index, chosen]

    @property
    def size(self) -> int:
        """Number of legal combinations."""
        return math.prod(len(rows) for _, rows in self.blocks)

    @property
    def box(self) -> int:
        """Number of combinations of the full factorial design, legal or not."""
        return math.prod(len(factor.levels) for factor in self.factors)

    def _assembled(self, choice: Sequence[int]) -> DesignRow:
        row = [0] * len(self.factors)
        for (members, rows), chosen in zip(self.blocks, choice, strict=True):
            for member, level in zip(members, rows[chosen], strict=True):
                row[member] = level
        return tuple(row)

    def rows(self) -> list[DesignRow]:
        """Returns every legal row (combination of levels). Raises InputError if there are more than
        MOST_LISTED."""
        if self.size > MOST_LISTED:
            raise InputError(
                "design.kind",
                "full",
                f"has {self.size} configurations; choose latin, d-optimal or screening",
            )
        ranges = [range(len(rows)) for _, rows in self.blocks]
        return [self._assembled(choice) for choice in itertools.product(*ranges)]

    def sample(self, count: int, random: np.random.Generator) -> list[DesignRow]:
        """`count` rows drawn uniformly from the legal set, with replacement."""
        sizes = [len(rows) for _, rows in self.blocks]
        return [self._assembled([int(random.integers(s)) for s in sizes]) for _ in range(count)]

    def at(self, shares: np.ndarray) -> DesignRow:
        """Returns the legal row that a point of the unit cube selects.

        `shares` has one number in [0, 1) for each block of factors. The number selects one of the
        block's legal rows.
        """
        pairs = zip(shares, self.blocks, strict=True)
        return self._assembled([min(int(u * len(rows)), len(rows) - 1) for u, (_, rows) in pairs])

    def values(self, row: DesignRow) -> dict[str, LevelValue]:
        """Returns the scenario keys that a row sets, with their values."""
        found: dict[str, LevelValue] = {}
        for factor, level in zip(self.factors, row, strict=True):
            found |= factor.values(factor.levels[level])
        return found

    def part(self, hard: bool) -> tuple[int, ...]:
        """If `hard` is true, returns the indices of the factors whose change needs another testbed;
        otherwise returns the indices of all other factors."""
        return tuple(i for i, factor in enumerate(self.factors) if factor.is_hard == hard)


def _parts(
    members: DesignRow, rows: list[DesignRow]
) -> Iterator[tuple[DesignRow, list[DesignRow]]]:
    """Splits a block of factors: every factor that is independent of the others becomes a separate
    part, and the remaining factors form one part.

    Yields (indices of the factors, their legal rows) of each part.
    """
    tied = list(members)
    free: list[tuple[DesignRow, list[DesignRow]]] = []
    for index in members:
        place = tied.index(index)
        own = {row[place] for row in rows}
        rest = {row[:place] + row[place + 1 :] for row in rows}
        if len(own) * len(rest) == len(rows) and len(tied) > 1:
            free.append(((index,), [(level,) for level in sorted(own)]))
            tied.remove(index)
            rows = sorted(rest)
    yield tuple(tied), rows
    yield from free


def _constraint(text: str) -> LegalityTest:
    return lambda levels: holds(text, {name: number(level) for name, level in levels.items()})


def legal(scenario: Scenario) -> Legal:
    """The legal set of a scenario's design.

    The legal set is determined by the design's constraints and the file system's checks.
    """
    structural, working, single = [], [], []
    parameter_keys = {
        p.key for p in discover.file_system(scenario.file_system.name).parameters if p.daemons_only
    }
    for factor in scenario.design.factor:
        if any(shapes(key, parameter_keys) for key in factor.keys):
            structural.append(factor)
        elif any(key.startswith("workload.") for key in factor.keys):
            working.append(factor)
        else:
            single.append(factor)
    base = _base(scenario, [working, structural])
    groups = [group for group in (structural, working, *([one] for one in single)) if group]
    judges = [([f.name for f in group], _judge(scenario, group, base)) for group in groups]
    return Legal(scenario.design, judges)


def _judge(
    scenario: Scenario, group: Sequence[Factor], base: Mapping[str, LevelValue]
) -> LegalityTest:
    by_name = {factor.name: factor for factor in group}

    def judge(levels: Mapping[str, Level]) -> bool:
        values = dict(base)
        for name, level in levels.items():
            values |= by_name[name].values(level)
        return is_legal(scenario, values)

    return judge


def is_legal(scenario: Scenario, values: Mapping[str, LevelValue]) -> bool:
    """Whether the configuration passes every check. Raises InputError if a value cannot be
    parsed."""
    return _refused(scenario, values) == ""


def _refused(scenario: Scenario, values: Mapping[str, LevelValue]) -> str:
    """Returns the scenario key that makes a combination of values illegal; "" if the combination is
    legal. Raises InputError if a value is wrong in every combination, for example if it cannot be
    parsed."""
    try:
        check(scenario.with_values(dict(values)))
    except InputError as error:
        if error.allowed.startswith(("must be", "direct I/O")):
            return error.key
        raise
    return ""


def _base(scenario: Scenario, groups: Sequence[Sequence[Factor]]) -> dict[str, LevelValue]:
    """Returns values of all factors that together form a legal configuration. With these values for
    all other factors, each group of factors can be checked alone. If no combination of a group's
    levels is legal, its factors keep their first levels."""
    values: dict[str, LevelValue] = {}
    for factor in scenario.design.factor:
        values |= factor.values(factor.levels[0])
    # Values of the workload are chosen first, because the workload is checked before the layout.
    for group in groups:
        own = "workload." if all(not factor.is_hard for factor in group) else ""
        for levels in itertools.product(*(factor.levels for factor in group)):
            tried = dict(values)
            for factor, level in zip(group, levels, strict=True):
                tried |= factor.values(level)
            refused = _refused(scenario, tried)
            if not refused or (own and not refused.startswith(own)):
                values = tried
                break
    return values
