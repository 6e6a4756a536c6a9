"""Prints the guards of a sequence diagram with names for long amounts and conditions, and explains
these names in the legend of the diagram."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dfslab.spec.steps.expression import Expr, readable


@dataclass(frozen=True)
class Legend:
    """The names that the guards of one diagram use.

    `labels`: the printed name of each named amount or condition, in the order in which the guards
    use them. Two different amounts of one name get different labels: blocks and blocks_2.
    """

    labels: Mapping[Expr, str]

    def text(self, value: Expr, within: int = 0) -> str:
        """Returns the text of a guard's expression. Named amounts and conditions are printed by
        their labels. `within`: precedence of the enclosing operation (see `readable`)."""
        return readable(self._labelled(value), within)

    def lines(self) -> list[str]:
        """Returns one line `label = formula` for each named amount or condition."""
        return [f"{label} = {self.text(one.operands[0])}" for one, label in self.labels.items()]

    def _labelled(self, value: Expr) -> Expr:
        """Returns a copy of the expression in which each named amount or condition has its label
        instead of its name."""
        if not isinstance(value, Expr) or value.is_leaf:
            return value
        if value.name == "named":
            return type(value)("named", self.labels.get(value, value.key), *value.operands)
        return type(value)(value.name, *map(self._labelled, value.operands))


def legend(guards: Iterable[Expr]) -> Legend:
    """Returns the legend of a diagram whose guards contain the expressions `guards`."""
    labels: dict[Expr, str] = {}
    uses: dict[str, int] = {}
    for guard in guards:
        for one in named_parts(guard):
            if one not in labels:
                uses[one.key] = uses.get(one.key, 0) + 1
                labels[one] = one.key if uses[one.key] == 1 else f"{one.key}_{uses[one.key]}"
    return Legend(labels)


def named_parts(value: Expr) -> Iterator[Expr]:
    """Yields the named amounts and conditions inside an expression, outer ones first."""
    if not isinstance(value, Expr) or value.is_leaf:
        return
    if value.name == "named":
        yield value
    for one in value.operands:
        yield from named_parts(one)
