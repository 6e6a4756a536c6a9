"""Amounts of a net: constants of a configuration are folded, amounts by file size stay symbolic."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dfslab.lazily import lazily
from dfslab.models.compiled.net_build import Amount, times
from dfslab.models.tree.reader import Reader
from dfslab.spec.steps.calls import UNFORCED
from dfslab.spec.steps.expression import Expr, symbol, sympify

if TYPE_CHECKING:
    import sympy
else:
    sympy = lazily("sympy")

# Units of a pipeline and turns of a loop are batched into at most this many tokens.
MOST_UNITS = 64
FILE_SIZE = symbol("file_size")
# Symbols whose value a token carries -> the token's field.
OF_TOKENS = {
    FILE_SIZE: "a.size",
    symbol("scattered"): "a.scattered",
    symbol(UNFORCED): "a.unforced",
}
_FUNCTIONS = {"Max": "max", "Min": "min"}
_ROUNDED = {"ceiling": "ceil", "floor": "floor"}
# Operator -> (its inscription, the operand value that decides the result alone).
_JOINED = {"and": (" && ", False), "or": (" || ", True)}
_COMPARED = {"StrictGreaterThan": ">", "GreaterThan": ">=", "StrictLessThan": "<", "LessThan": "<="}


class Amounts:
    """Evaluates a description's expressions; `opened` symbols become reads of token fields."""

    def __init__(self, reader: Reader, opened: Iterable[Expr] = ()) -> None:
        self._reader = reader
        self._open = {str(one): OF_TOKENS[one] for one in opened}

    def of(self, expression: Expr) -> Amount:
        """A number, or an inscription over token fields where open symbols occur."""
        if self._depends(expression):
            return self._written(sympify(expression))
        return self._reader.value(expression)

    def holds(self, condition: Expr) -> bool | str:
        """The truth value of a condition, or a guard where open symbols occur."""
        if not self._depends(condition):
            return self._reader.holds(condition)
        if not isinstance(condition, Expr):
            return self._written(condition)
        if condition.name == "not":
            inner = self.holds(condition.args[0])
            return f"!({inner})" if isinstance(inner, str) else not inner
        if condition.name in _JOINED:
            return self._joined(condition)
        return self._written(sympify(condition))

    def _joined(self, condition: Expr) -> bool | str:
        """A conjunction or disjunction, simplified by its known operands."""
        word, decides = _JOINED[condition.name]
        found = [self.holds(one) for one in condition.args]
        if decides in found:
            return decides
        guards = [one for one in found if isinstance(one, str)]
        return word.join(f"({one})" for one in guards) if guards else not decides

    def whole(self, expression: Expr) -> int:
        """An integer count, which must not depend on open symbols."""
        number = self.of(expression)
        assert isinstance(number, float | int), f"{expression} must not depend on {self._open}"
        return round(number)

    def turns(self, expression: Expr, most: int) -> tuple[int | str, Amount]:
        """(turns, count per turn): a count batched into at most `most` turns."""
        count = self.of(expression)
        if isinstance(count, str):
            written = f"min({most}, max(1, ceil({count})))"
            return written, f"({count}) / {written}"
        turns = min(most, max(1, math.ceil(count - 1e-9)))
        return turns, count / turns

    def _depends(self, expression: Expr) -> bool:
        return not self._open.keys().isdisjoint(map(str, expression.free_symbols))

    def _written(self, node: sympy.Expr) -> str:
        """A SymPy expression as an inscription."""
        if node.is_Symbol and str(node) in self._open:
            return self._open[str(node)]
        if node in (sympy.true, sympy.false):
            return str(bool(node)).lower()
        if isinstance(node, sympy.logic.boolalg.BooleanFunction | sympy.core.relational.Relational):
            return self._condition(node)
        if not self._depends(node):
            return repr(float(self._reader.value(node)))
        if isinstance(node, sympy.Piecewise):
            return self._cases(node)
        parts = [self._written(part) for part in node.args]
        if isinstance(node, sympy.Add | sympy.Mul):
            return "(" + (" + " if isinstance(node, sympy.Add) else " * ").join(parts) + ")"
        if isinstance(node, sympy.Pow) and abs(node.exp) in (1, sympy.Rational(1, 2)):
            whole = abs(node.exp) == 1
            base = parts[0] if whole else f"sqrt({parts[0]})"
            return base if node.exp > 0 else f"(1.0 / {base})"
        if isinstance(node, sympy.Pow) and node.base.is_number:
            return f"exp({float(sympy.log(node.base))!r} * {parts[1]})"
        if isinstance(node, sympy.log):
            return f"ln({parts[0]})"
        name = type(node).__name__
        if name in _ROUNDED:
            return f"{_ROUNDED[name]}({parts[0]})"
        if name in _FUNCTIONS:
            found = parts[0]
            for part in parts[1:]:
                found = f"{_FUNCTIONS[name]}({found}, {part})"
            return found
        raise NotImplementedError(f"{node.func} in {node} has no form in the net's language")

    def _condition(self, node: sympy.Basic) -> str:
        """A comparison, or a combination of several, as an inscription."""
        parts = [self._written(part) for part in node.args]
        name = type(node).__name__
        if name in _COMPARED:
            return f"({parts[0]} {_COMPARED[name]} {parts[1]})"
        if isinstance(node, sympy.Not):
            return f"!{parts[0]}"
        if isinstance(node, sympy.ITE):
            test, then, otherwise = parts
            return f"(({test} && {then}) || (!{test} && {otherwise}))"
        return "(" + (" && " if isinstance(node, sympy.And) else " || ").join(parts) + ")"

    def _cases(self, node: sympy.Piecewise) -> str:
        """A piecewise expression as nested conditionals; the last case is the default."""
        *cases, last = node.args
        found = self._written(last.expr)
        for case in reversed(cases):
            if self._depends(case.cond):
                found = f"if({self._written(case.cond)}, {self._written(case.expr)}, {found})"
            elif self._reader.value(case.cond):
                found = self._written(case.expr)
        return found


def scaled(reader: Amounts, expression: Expr, scale: Amount) -> Amount:
    """The amount of an expression, multiplied by `scale`."""
    return times(reader.of(expression), scale)
