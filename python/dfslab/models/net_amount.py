"""Numbers of a net: what a configuration fixes is folded, what a file's size decides stays open."""

from __future__ import annotations

import math
from collections.abc import Iterable

import sympy

from dfslab.models.cost import Reader
from dfslab.models.net_build import Amount, times
from dfslab.spec.calls import UNFORCED
from dfslab.spec.parameters import symbol

# A pipeline's units and a loop's turns are gathered into at most this many.
MOST_UNITS = 64
FILE_SIZE = symbol("file_size")
# Symbols that a token can say for itself, and the field that says it.
OF_TOKENS = {FILE_SIZE: "a.size", symbol("scattered"): "a.scattered",
             symbol(UNFORCED): "a.unforced"}  # fmt: skip
_FUNCTIONS = {sympy.Max: "max", sympy.Min: "min"}
_ROUNDED = {sympy.ceiling: "ceil", sympy.floor: "floor"}


class Amounts:
    """Evaluates a description's expressions; what is `open` stays to be read off a token."""

    def __init__(self, reader: Reader, opened: Iterable[sympy.Symbol] = ()) -> None:
        self._reader = reader
        self._open = {one: OF_TOKENS[one] for one in opened}

    def of(self, expression: sympy.Expr) -> Amount:
        """A number, or an expression over the token where it depends on what is open."""
        if self._depends(expression):
            return self._written(expression)
        return self._reader.value(expression)

    def whole(self, expression: sympy.Expr) -> int:
        """A count that no file's size decides."""
        number = self.of(expression)
        assert isinstance(number, float | int), f"{expression} must not depend on {self._open}"
        return round(number)

    def turns(self, expression: sympy.Expr, most: int) -> tuple[int | str, Amount]:
        """(turns to make, how many each stands for) of a count, gathered to `most`."""
        count = self.of(expression)
        if isinstance(count, str):
            written = f"min({most}, max(1, ceil({count})))"
            return written, f"({count}) / {written}"
        turns = min(most, max(1, math.ceil(count - 1e-9)))
        return turns, count / turns

    def _depends(self, expression: sympy.Expr) -> bool:
        return not self._open.keys().isdisjoint(expression.free_symbols)

    def _written(self, node: sympy.Expr) -> str:
        """An expression in the inscription language."""
        if node in self._open:
            return self._open[node]
        if not self._depends(node):
            return repr(float(self._reader.value(node)))
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
        if type(node) in _ROUNDED:
            return f"{_ROUNDED[type(node)]}({parts[0]})"
        if type(node) in _FUNCTIONS:
            found = parts[0]
            for part in parts[1:]:
                found = f"{_FUNCTIONS[type(node)]}({found}, {part})"
            return found
        raise NotImplementedError(f"{node.func} in {node} has no form in the net's language")


def scaled(reader: Amounts, expression: sympy.Expr, scale: Amount) -> Amount:
    """An expression's amount, `scale` times."""
    return times(reader.of(expression), scale)
