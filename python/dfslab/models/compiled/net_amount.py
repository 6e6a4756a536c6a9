"""Converts the expressions of a file system's description to amounts in a net.

Most symbols have one value in a configuration; the value replaces the symbol. Other symbols, such
as the file size, differ from token to token. An expression with such symbols becomes an expression
over token fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from dfslab.models.compiled.token_flow import Amount, main
from dfslab.models.tree.reader import TreeReader
from dfslab.nets.inscription import number, truth
from dfslab.spec.steps.calls import UNFORCED
from dfslab.spec.steps.expression import (
    Condition,
    Expr,
    Max,
    Min,
    Symbolic,
    ceiling,
    symbol,
    sympify,
)
from dfslab.spec.steps.node import Choice, Either

if TYPE_CHECKING:
    import sympy

# Largest number of tokens into which the units of a pipeline, or the repetitions of a loop, are
# batched.
MOST_UNITS = 64
FILE_SIZE = symbol("file_size")
# Symbols whose value each token carries, with the token's field that has the value.
OF_TOKENS = {
    FILE_SIZE: main("size"),
    symbol("scattered"): main("scattered"),
    symbol(UNFORCED): main("unforced"),
}
_OF_SEVERAL = ("Max", "Min")
_ROUNDED = ("ceiling", "floor")
# For each logical operator, the value of one operand that decides the result whatever the other
# operand is.
_DECIDES = {"and": False, "or": True}
# For each comparison of SymPy: the comparison in the net's expressions, and whether the operands
# are exchanged.
_COMPARED = {
    "StrictGreaterThan": ("gt", False),
    "GreaterThan": ("ge", False),
    "StrictLessThan": ("gt", True),
    "LessThan": ("ge", True),
}


class Amounts:
    """Evaluates a description's expressions for a net. The symbols in `opened` have a different
    value for each token. These symbols are therefore converted to expressions that read token
    fields."""

    def __init__(self, reader: TreeReader, opened: Iterable[Expr] = ()) -> None:
        self._reader = reader
        self._open = {str(one): OF_TOKENS[one] for one in opened}

    def of(self, expression: Expr) -> Amount:
        """Returns the value of an expression, or an expression over token fields where it contains
        symbols that tokens carry.
        """
        if self._depends(expression):
            return self._written(sympify(expression))
        return self._reader.value(expression)

    def holds(self, condition: Expr) -> bool | Condition:
        """Returns the truth value of a condition, or a guard over token fields where it contains
        symbols that tokens carry.
        """
        if not self._depends(condition):
            return self._reader.holds(condition)
        if not isinstance(condition, Expr):
            return self._guard(condition)
        if condition.name == "named":
            return self.holds(condition.operands[0])
        if condition.name == "not":
            inner = self.holds(condition.operands[0])
            return ~inner if isinstance(inner, Condition) else not inner
        if condition.name in _DECIDES:
            return self._joined(condition)
        return self._guard(sympify(condition))

    def by_misses(self, node: Either) -> Choice | None:
        """Converts a node whose condition depends on cache misses to a random choice between the
        node's branches (TreeReader.by_misses).

        Returns None in three cases: the servers' caches contain all or none of the node's data, the
        condition does not depend on cache misses, or the condition depends on symbols that differ
        from token to token.
        """
        return None if self._depends(node.condition) else self._reader.by_misses(node)

    def _joined(self, condition: Expr) -> bool | Condition:
        """Simplifies a conjunction or disjunction.

        Returns a truth value if operands with known truth values determine it. Otherwise returns
        the condition without these operands.
        """
        decides = _DECIDES[condition.name]
        guards: list[Condition] = []
        for one in map(self.holds, condition.operands):
            if isinstance(one, Condition):
                guards.append(one)
            elif one == decides:
                return decides
        if not guards:
            return not decides
        return reduce(lambda one, other: Condition(condition.name, one, other), guards)

    def is_fixed(self, expression: Expr) -> bool:
        """Returns whether an expression has the same value for all tokens."""
        return not self._depends(expression)

    def whole(self, expression: Expr) -> int:
        """Returns the value of a count, rounded to an integer. The count must not depend on symbols
        that tokens carry.
        """
        number = self.of(expression)
        assert isinstance(number, float | int), f"{expression} must not depend on {self._open}"
        return round(number)

    def turns(self, expression: Expr, most: int) -> tuple[int | Expr, Amount]:
        """Divides a number of repetitions into at most `most` batches. Returns (number of batches,
        number of repetitions in each batch)."""
        count = self.of(expression)
        if isinstance(count, Expr):
            batched = Min(most, Max(1, ceiling(count)))
            return batched, count / batched
        turns = min(most, max(1, math.ceil(count - 1e-9)))
        return turns, count / turns

    def _depends(self, expression: Symbolic) -> bool:
        return not self._open.keys().isdisjoint(map(str, expression.free_symbols))

    def _written(self, node: sympy.Basic) -> Expr:
        """Converts a SymPy expression to an expression over token fields, with the operations in
        SymPy's order.
        """
        if node.is_Symbol and str(node) in self._open:
            return self._open[str(node)]
        if not self._depends(node):
            return number(float(self._reader.value(node)))
        import sympy

        if isinstance(node, sympy.Piecewise):
            return self._cases(node)
        parts = [self._written(part) for part in node.args]
        name = type(node).__name__
        if isinstance(node, sympy.Add | sympy.Mul):
            return _folded("add" if isinstance(node, sympy.Add) else "mul", parts)
        if isinstance(node, sympy.Pow) and abs(node.exp) in (1, sympy.Rational(1, 2)):
            base = parts[0] if abs(node.exp) == 1 else Expr("sqrt", parts[0])
            return base if node.exp > 0 else Expr("div", number(1.0), base)
        if isinstance(node, sympy.Pow) and node.base.is_number:
            return Expr("exp", Expr("mul", number(float(sympy.log(node.base))), parts[1]))
        if isinstance(node, sympy.log):
            return Expr("log", parts[0])
        if name in _ROUNDED:
            return Expr(name, parts[0])
        if name in _OF_SEVERAL:
            return _folded(name, parts)
        raise NotImplementedError(f"{node.func} in {node} has no form in the net's language")

    def _guard(self, node: sympy.Basic) -> Condition:
        """Converts a SymPy comparison, or a logical combination of comparisons, to a guard over
        token fields.
        """
        import sympy

        if node in (sympy.true, sympy.false):
            return truth(bool(node))
        name = type(node).__name__
        if name in _COMPARED:
            word, turned = _COMPARED[name]
            sides = [self._written(one) for one in node.args]
            return Condition(word, *(reversed(sides) if turned else sides))
        parts = [self._guard(one) for one in node.args]
        if isinstance(node, sympy.Not):
            return Condition("not", parts[0])
        if isinstance(node, sympy.ITE):
            test, then, otherwise = parts
            without = Condition("and", Condition("not", test), otherwise)
            return Condition("or", Condition("and", test, then), without)
        word = "and" if isinstance(node, sympy.And) else "or"
        return reduce(lambda one, other: Condition(word, one, other), parts)

    def _cases(self, node: sympy.Piecewise) -> Expr:
        """Converts a piecewise expression to nested conditionals. The last case is the default."""
        *cases, last = node.args
        found = self._written(last.expr)
        for case in reversed(cases):
            if self._depends(case.cond):
                found = Expr("select", self._guard(case.cond), self._written(case.expr), found)
            elif self._reader.value(case.cond):
                found = self._written(case.expr)
        return found


def _folded(name: str, parts: Sequence[Expr]) -> Expr:
    """Returns an expression that applies the binary operation `name` to several operands, from left
    to right.
    """
    return reduce(lambda one, other: Expr(name, one, other), parts)
