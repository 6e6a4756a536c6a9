"""Inscriptions of nets as Python values: expressions over the fields of tokens, which are converted
to text for the engine.

The expressions are those of `spec.steps.expression`, extended by fields of tokens and by calls of
the engine's functions. An inscription may also be text in the engine's language, as in files of
nets. Text is passed to the engine unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import TypeAlias

from dfslab.spec.steps.expression import Condition, Expr, condition, expression, symbol

# An inscription in Python: the expression on an arc, of a delay or of a token's field. An
# inscription is an expression object, text in the engine's language, or a constant.
Inscription: TypeAlias = Expr | str | float | bool

# The functions of the engine's language that draw at random.
DRAW = re.compile(
    r"\b(?:exponential|uniform|erlang|normal|lognormal|weibull|gamma|discrete|empirical)\("
)

# The infix operations, by name. Each value has the operator in the engine's language and its
# precedence; an operator with a larger number binds more tightly.
_SIGNS = {
    "or": ("||", 1),
    "and": ("&&", 2),
    "eq": ("==", 3),
    "ne": ("!=", 3),
    "gt": (">", 4),
    "ge": (">=", 4),
    "add": ("+", 5),
    "sub": ("-", 5),
    "mul": ("*", 6),
    "div": ("/", 6),
    "mod": ("%", 6),
    "floordiv": ("//", 6),
}
# Associative operations. For these, `a op (b op c)` is printed without brackets.
_ASSOCIATIVE = ("or", "and")
_TURNED = {"gt": "<", "ge": "<="}
_NAMES = {"Max": "max", "Min": "min", "ceiling": "ceil", "log": "ln", "select": "if"}
_OF_TWO = ("Max", "Min")


class Field(Expr):
    """A field of the token that an arc binds to `variable`, printed as `variable.label`."""

    @property
    def variable(self) -> str:
        """Returns the name of the variable that is bound to the token."""
        return str(self.args[0])

    @property
    def label(self) -> str:
        """Returns the name of the field within the token."""
        return str(self.args[1])

    @property
    def is_leaf(self) -> bool:
        """Returns True, because a field of a token has no operands."""
        return True

    @cached_property
    def free_symbols(self) -> frozenset[Expr]:
        """Returns the set of fields that occur in this expression, which is only this field."""
        return frozenset({self})


class Flag(Field, Condition):
    """A field of a token whose value is true or false, so that it can serve as a condition."""

    __hash__ = Expr.__hash__


@lru_cache(maxsize=1024)
def field(variable: str, label: str) -> Field:
    """Returns the field `label` of the token that an arc binds to `variable`, as an expression. All
    inscriptions share one object for each field."""
    return Field("field", variable, label)


def flag(variable: str, label: str) -> Flag:
    """Returns the field `label`, whose value is true or false, of the token that an arc binds to
    `variable`."""
    return Flag("field", variable, label)


def number(value: float) -> Expr:
    """Returns a number as an expression."""
    return Expr("number", value)


def truth(value: bool) -> Condition:
    """Returns true or false as a condition."""
    return Condition("true" if value else "false")


def equal(left: Expr | float, right: Expr | float) -> Condition:
    """Returns the condition that two values are equal when the net runs. In contrast, the Python
    operator `==` compares the two expression objects."""
    return Condition("eq", _value(left), _value(right))


def unequal(left: Expr | float, right: Expr | float) -> Condition:
    """Returns the condition that two values differ when the net runs."""
    return Condition("ne", _value(left), _value(right))


def call(name: str, *arguments: Expr | float) -> Expr:
    """Returns the call of a function of the engine or of the net, as in `call("uniform", 0.0,
    1.0)`."""
    return Expr(name, *map(_value, arguments))


def every(conditions: Iterable[Condition]) -> Condition | None:
    """Returns the conjunction of the conditions, in their order; None if there are none."""
    found = list(conditions)
    return reduce(lambda one, other: Condition("and", one, other), found) if found else None


def fields(value: Expr) -> Iterator[Field]:
    """Returns the fields of tokens that occur in an expression."""
    return (one for one in value.free_symbols if isinstance(one, Field))


def substituted(value: Expr, variable: str, row: Mapping[str, Expr]) -> Expr:
    """Replaces fields of the token `variable` in an expression, and returns the new expression.
    `row` maps the names of fields to the expressions that replace them."""
    if not any(one.variable == variable and one.label in row for one in fields(value)):
        return value
    if isinstance(value, Field):
        return row[value.label]
    inner = [
        substituted(one, variable, row) if isinstance(one, Expr) else one for one in value.args
    ]
    return type(value)(value.name, *inner)


def written(value: Inscription) -> str | float | bool:
    """Converts an inscription to the form that net definitions use. An expression object becomes
    text; any other inscription is returned unchanged."""
    return text(value) if isinstance(value, Expr) else value


def text(value: Expr, within: int = 0) -> str:
    """Returns an expression as text in the engine's language, with as few brackets as possible.
    `within` is the precedence of the operation that contains the expression."""
    if value.name in _SIGNS:
        return _infix(value, within)
    special = _SPECIAL.get(value.name)
    if special is not None:
        return special(value)
    if value.name in _OF_TWO and len(value.operands) > 2:
        first, *others = value.operands
        return text(reduce(lambda one, other: Expr(value.name, one, other), others, first))
    return f"{_NAMES.get(value.name, value.name)}({_commas(value)})"


def _value(value: Expr | float) -> Expr:
    if isinstance(value, bool):
        return truth(value)
    found = expression(value)
    assert isinstance(found, Expr), f"{value!r} is no expression"
    return found


def _commas(value: Expr) -> str:
    return ", ".join(map(text, value.operands))


def _number(value: Expr) -> str:
    found = value.value
    return repr(float(found) if isinstance(found, Fraction) else found)


def _power(value: Expr) -> str:
    raise NotImplementedError(f"{value} has no form in the net's language")


def _infix(value: Expr, within: int) -> str:
    """Returns a binary operation as text. A comparison of a constant with a field is written with
    the field on the left."""
    sign, binds = _SIGNS[value.name]
    left, right = value.operands
    if value.name in _TURNED and not any(fields(left)) and any(fields(right)):
        left, right, sign = right, left, _TURNED[value.name]
    after = binds if value.name in _ASSOCIATIVE else binds + 1
    # An operand of a comparison that is itself a comparison is put in brackets, so that the text
    # does not look like a chain of comparisons (a < b < c).
    before = binds + 1 if value.name in ("eq", "ne", *_TURNED) else binds
    joined = f"{text(left, before)} {sign} {text(right, after)}"
    return f"({joined})" if binds < within else joined


_SPECIAL: Mapping[str, Callable[[Expr], str]] = {
    "number": _number,
    "symbol": lambda one: one.key,
    "field": lambda one: f"{one.args[0]}.{one.args[1]}",
    "named": lambda one: text(one.operands[0], len(_SIGNS)),
    "list": lambda one: f"[{_commas(one)}]",
    "not": lambda one: f"!{text(one.operands[0], len(_SIGNS))}",
    "true": lambda one: "true",
    "false": lambda one: "false",
    "pow": _power,
}

__all__ = ["Condition", "Expr", "Field", "Flag", "Inscription", "condition", "symbol"]
