"""Expressions over parameters. Plain Python evaluates them for numbers, and SymPy shows them as
formulas.

A description writes amounts as sums, products, Max, Min and similar functions of symbols. A
description also writes conditions such as `P.copies > 1` or `P.direct | P.cold`. An `Expr` keeps
its operations as written.

To compute numbers, an `Expr` is compiled into a Python function. To show formulas, `sympify`
repeats the operations in SymPy. SymPy is imported only for this, because it takes longer to load
than all other modules together. An operation may combine an `Expr` with an expression of SymPy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    import sympy

Number: TypeAlias = "int | float | Fraction"
Operand: TypeAlias = "Expr | int | float | Fraction"
# An argument of an `Expr`. The argument is an inner expression, the key of a symbol (str), the name
# of a named amount (str, see `named`), or the value of a number.
Argument: TypeAlias = "Expr | str | int | float | Fraction"
# A description may also use SymPy's own functions, whose results are no `Expr`.
Symbolic: TypeAlias = "Expr | sympy.Basic"
Kind = TypeVar("Kind", bound="Expr")
# The operators of infix operations, as Python writes them.
INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}
INFIX |= {"mod": "%", "floordiv": "//", "gt": ">", "ge": ">=", "and": "&", "or": "|"}
_FUNCTIONS = ("Max", "Min", "ceiling", "floor", "sqrt", "log")


class Expr:
    """An expression: the operation `name` on `args`. For a symbol, the only argument is its key;
    for a number, the only argument is its value."""

    # With this setting, NumPy lets the methods of `Expr` compute an operation of a NumPy scalar and
    # an `Expr`.
    __array_ufunc__ = None

    def __init__(self, name: str, *args: Argument) -> None:
        self.name, self.args = name, args
        self._hash = hash((name, args))

    def __reduce__(self) -> tuple[type[Expr], tuple[Argument, ...]]:
        # The hash is not pickled, because the hashes of strings differ between processes.
        return type(self), (self.name, *self.args)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Expr):
            return (self._hash, self.name, self.args) == (other._hash, other.name, other.args)
        if isinstance(other, int | float | Fraction):
            return self.name == "number" and self.value == other
        return NotImplemented

    def __str__(self) -> str:
        return str(self.args[0]) if self.is_leaf else str(self.symbolic)

    __repr__ = __str__

    @property
    def is_leaf(self) -> bool:
        """Returns whether the expression is a symbol or a number."""
        return self.name in ("symbol", "number")

    @cached_property
    def operands(self) -> tuple[Expr, ...]:
        """The arguments that are expressions. A symbol and a number have none."""
        return tuple(one for one in self.args if not isinstance(one, str | int | float | Fraction))

    @property
    def key(self) -> str:
        """Returns the key of a symbol or the name of a named amount."""
        return str(self.args[0])

    @property
    def value(self) -> Number:
        """Returns the value of an expression that is a number."""
        value = self.args[0]
        assert isinstance(value, int | float | Fraction), f"{self.name} is no number"
        return value

    @cached_property
    def free_symbols(self) -> frozenset[Expr]:
        """Returns the symbols in the expression."""
        if self.name == "symbol":
            return frozenset({self})
        return frozenset[Expr]().union(*(one.free_symbols for one in self.operands))

    @property
    def is_number(self) -> bool:
        """Returns whether the expression has no symbols, so that its value is constant."""
        return not self.free_symbols

    @cached_property
    def symbolic(self) -> sympy.Basic:
        """Returns the equivalent SymPy expression, built by the same operations."""
        import sympy

        if self.name == "symbol":
            return sympy.Symbol(self.key, nonnegative=True)
        if self.name == "number":
            value = self.value
            if isinstance(value, Fraction):
                return sympy.Rational(value.numerator, value.denominator)
            return sympy.sympify(value)
        if self.name == "named":
            return self.operands[0].symbolic
        args = [one.symbolic for one in self.operands]
        if self.name in _symbolic():
            found: sympy.Basic = _symbolic()[self.name](*args)
            return found
        if self.name == "select":
            holds, then, otherwise = args
            return sympy.Piecewise((then, holds), (otherwise, True))
        left, right = args
        computed: sympy.Basic = _COMPUTED[self.name](left, right)
        return computed

    def _sympy_(self) -> sympy.Basic:
        """Returns the equivalent SymPy expression. SymPy's `sympify` calls this method."""
        return self.symbolic

    def __add__(self, other: Operand) -> Expr:
        return _combined("add", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return _combined("add", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return _combined("sub", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return _combined("sub", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return _combined("mul", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return _combined("mul", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return _combined("div", self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return _combined("div", other, self)

    def __mod__(self, other: Operand) -> Expr:
        return _combined("mod", self, other)

    def __rmod__(self, other: Operand) -> Expr:
        return _combined("mod", other, self)

    def __floordiv__(self, other: Operand) -> Expr:
        return _combined("floordiv", self, other)

    def __rfloordiv__(self, other: Operand) -> Expr:
        return _combined("floordiv", other, self)

    def __pow__(self, other: Operand) -> Expr:
        return _combined("pow", self, other)

    def __rpow__(self, other: Operand) -> Expr:
        return _combined("pow", other, self)

    def __neg__(self) -> Expr:
        return _combined("mul", -1, self)

    def __gt__(self, other: Operand) -> Condition:
        return _compared("gt", self, other)

    def __lt__(self, other: Operand) -> Condition:
        return _compared("gt", other, self)

    def __ge__(self, other: Operand) -> Condition:
        return _compared("ge", self, other)

    def __le__(self, other: Operand) -> Condition:
        return _compared("ge", other, self)

    def __and__(self, other: Expr) -> Condition:
        return Condition("and", condition(self), condition(other))

    def __or__(self, other: Expr) -> Condition:
        return Condition("or", condition(self), condition(other))

    def __invert__(self) -> Condition:
        return Condition("not", condition(self))


class Condition(Expr):
    """A Boolean expression: a comparison, or conditions combined by `&`, `|` and `~`.

    A parameter of value 1 or 0 is converted by `condition`, so `P.direct | P.cold` is a condition.
    A condition is not a number. An amount that depends on a condition is written with `select`.
    """

    def __bool__(self) -> bool:
        raise TypeError(f"whether {readable(self)} is only known with parameters")

    __hash__ = Expr.__hash__


_COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "mod": operator.mod,
    "floordiv": operator.floordiv,
    "pow": operator.pow,
}
_DIVIDING = ("div", "mod", "floordiv")
ZERO, ONE = Expr("number", 0), Expr("number", 1)


def _combined(name: str, left: Operand, right: Operand) -> Expr:
    """Returns the operation `name` on two amounts. The result is a SymPy object if one of the
    amounts is a SymPy object, otherwise an `Expr`. Raises TypeError if one of them is a
    condition."""
    mine, theirs = _ours(left), _ours(right)
    for one in (mine, theirs):
        if isinstance(one, Condition):
            raise TypeError(f"{readable(one)} is a condition, not a number: use select")
    if mine is None or theirs is None:
        # `mixed` is an object of SymPy. The variable is declared as `Expr` because both kinds of
        # expression can be used in further operations.
        mixed: Expr = _COMPUTED[name](
            *(one.symbolic if isinstance(one, Expr) else one for one in (left, right))
        )
        return mixed
    return _simplest(name, mine, theirs)


def _ours(value: object) -> Expr | None:
    """Converts a number (also NumPy's) or `Expr` to an `Expr`. Returns None for SymPy objects."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, int | float | Fraction):
        return Expr("number", value)
    if type(value).__module__ != "numpy":
        return None
    import numpy as np

    # NumPy scalars become plain numbers.
    return Expr("number", value.item()) if isinstance(value, np.generic | np.ndarray) else None


def _simplest(name: str, left: Expr, right: Expr) -> Expr:
    """Returns the operation `name` on two operands, simplified if possible. x * 0 is 0, because
    parameters are finite."""
    if left.name == right.name == "number":
        values = [Fraction(v) if isinstance(v, int) else v for v in (left.value, right.value)]
        if name != "pow" and not (name in _DIVIDING and values[1] == 0):
            found: Number = _COMPUTED[name](*values)
            whole = isinstance(found, Fraction) and found.denominator == 1
            return Expr("number", int(found) if whole else found)
    if name in ("add", "sub") and right == ZERO:
        return left
    if name in ("mul", "div", "pow") and right == ONE:
        return left
    if (name == "add" and left == ZERO) or (name == "mul" and left == ONE):
        return right
    if (name == "mul" and ZERO in (left, right)) or (name == "div" and left == ZERO):
        return ZERO
    if name == "sub" and left == right:
        return ZERO
    return Expr(name, left, right)


def _compared(name: str, left: Operand, right: Operand) -> Condition:
    """Returns a comparison of two operands. Returns NotImplemented if one is an object of SymPy.
    Raises TypeError if one is a condition."""
    mine, theirs = _ours(left), _ours(right)
    if mine is None or theirs is None:
        return cast(Condition, NotImplemented)
    return Condition(name, _number(mine), _number(theirs))


def _number(value: Expr | Number) -> Expr:
    """Returns an amount as an `Expr`. Raises TypeError for a condition or an object of SymPy."""
    found = _ours(value)
    if found is None or isinstance(found, Condition):
        raise TypeError(f"{value} is no amount")
    return found


def condition(value: Expr) -> Condition:
    """Returns a condition unchanged. Another expression, such as a switch of value 1 or 0, becomes
    the condition `value > 0`."""
    return value if isinstance(value, Condition) else value > 0


def select(holds: Expr, then: Expr | Number, otherwise: Expr | Number) -> Expr:
    """Returns the amount `then` where the condition holds, else `otherwise`."""
    return Expr("select", condition(holds), _number(then), _number(otherwise))


def named(name: str, value: Kind) -> Kind:
    """Returns the amount or condition `value` with the name `name`. Guards and legends of diagrams
    show the name instead of the formula."""
    return type(value)("named", name, value)


def expression(value: Operand) -> Expr:
    """Converts a number to an expression. Expressions, also SymPy's, are returned unchanged."""
    found = _ours(value)
    return cast(Expr, value) if found is None else found


@lru_cache(maxsize=1)
def _symbolic() -> dict[str, Callable[..., Any]]:
    """Returns SymPy's functions and relations by the names that `Expr` uses."""
    import sympy

    return {
        "Max": sympy.Max,
        "Min": sympy.Min,
        "ceiling": sympy.ceiling,
        "floor": sympy.floor,
        "sqrt": sympy.sqrt,
        "log": sympy.log,
        "gt": sympy.Gt,
        "ge": sympy.Ge,
        "and": sympy.And,
        "or": sympy.Or,
        "not": sympy.Not,
    }


def _function(name: str) -> Callable[..., Expr]:
    def build(*values: Operand) -> Expr:
        ours = [one for one in map(_ours, values) if one is not None]
        if len(ours) < len(values):
            mixed: Expr = _symbolic()[name](*values)
            return mixed
        return Expr(name, *ours)

    return build


Max, Min, ceiling, floor, sqrt, log = map(_function, _FUNCTIONS)


def Rational(numerator: int, denominator: int) -> Expr:  # noqa: N802
    """Returns an exact fraction."""
    return Expr("number", Fraction(numerator, denominator))


@lru_cache(maxsize=8192)
def symbol(key: str) -> Expr:
    """Returns the symbol of `key`. All descriptions share one object for each key."""
    return Expr("symbol", key)


def sympify(value: object) -> sympy.Basic:
    """Converts an amount or condition to a SymPy expression."""
    import sympy

    return sympy.sympify(value)


def symbolic_amount(value: object) -> sympy.Expr:
    """Converts an amount to a SymPy expression. Raises TypeError for a condition."""
    import sympy

    found = sympify(value)
    if not isinstance(found, sympy.Expr):
        raise TypeError(f"{value} is a condition, not a number")
    return found


# Precedence of each operation in infix text; operations with a larger number bind tighter.
_BINDS = {"or": 1, "and": 2, "not": 3, "gt": 4, "ge": 4, "add": 5, "sub": 5}
_BINDS |= {"mul": 6, "div": 6, "mod": 6, "floordiv": 6, "pow": 7}
_WORDS = {**INFIX, "and": "and", "or": "or", "ge": "≥", "mul": "·", "pow": "^"}
_CALLED = {"ceiling": "ceil", "Max": "max", "Min": "min"}


def readable(value: Expr, within: int = 0) -> str:
    """Returns the expression as infix text. `within` is the precedence of the enclosing operation.
    The text is in brackets if the precedence of its own operation is lower."""
    if not isinstance(value, Expr):
        return str(value)
    if value.name == "number":
        number = value.value
        return f"{number:g}" if isinstance(number, float) else str(number)
    if value.name in ("symbol", "named"):
        return value.key
    if value.name == "gt" and value.operands[1] == ZERO and value.operands[0].name == "symbol":
        return str(value.operands[0])
    if value.name == "select":
        holds, then, otherwise = map(readable, value.operands)
        return f"({then} if {holds} else {otherwise})"
    binds = _BINDS.get(value.name)
    if binds is None:
        of = ", ".join(map(readable, value.operands))
        return f"{_CALLED.get(value.name, value.name)}({of})"
    if value.name == "not":
        return _negated(value.operands[0], within)
    # A right operand of - or / keeps its brackets if its operation has the same precedence, because
    # a - (b - c) is not (a - b) - c.
    first, *rest = value.operands
    right = binds + (value.name in ("sub", "pow", *_DIVIDING))
    parts = [readable(first, binds), *(readable(one, right) for one in rest)]
    joined = f" {_WORDS[value.name]} ".join(parts)
    return f"({joined})" if binds < within else joined


def _negated(value: Expr, within: int) -> str:
    """Returns the negation of a condition as text. A comparison gets the inverse operator: the
    negation of "a > b" is "a ≤ b". Any other condition, such as a switch, follows the word
    "not"."""
    if value.name in ("gt", "ge") and readable(value) != str(value.operands[0]):
        left, right = (readable(one, _BINDS[value.name]) for one in value.operands)
        return f"{left} {'≤' if value.name == 'gt' else '<'} {right}"
    return f"not {readable(value, _BINDS['not'])}"
