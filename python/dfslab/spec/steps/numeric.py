"""Compiles expressions into Python functions, whose arguments are numbers or NumPy arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from types import CodeType
from typing import Any

from dfslab.spec.steps.expression import INFIX, Expr, symbol


def _space(arrays: bool) -> dict[str, Callable[..., Any] | float]:
    """Returns the functions that compiled expressions may call, by name. `arrays`: whether the
    functions take NumPy arrays instead of numbers."""
    if not arrays:
        return {
            "Max": max,
            "Min": min,
            "ceiling": math.ceil,
            "floor": math.floor,
            "sqrt": math.sqrt,
            "log": math.log,
            "Not": operator.not_,
            "select": lambda holds, then, otherwise: then if holds else otherwise,
            "inf": math.inf,
        }
    import numpy as np

    return {
        "Max": _each_of(np.maximum),
        "Min": _each_of(np.minimum),
        "ceiling": np.ceil,
        "floor": np.floor,
        "sqrt": np.sqrt,
        "log": np.log,
        "Not": np.logical_not,
        "select": np.where,
        "inf": math.inf,
    }


def _each_of(of_two: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def of_all(first: Any, *rest: Any) -> Any:
        for one in rest:
            first = of_two(first, one)
        return first

    return of_all


def function(root: Expr, arrays: bool = False) -> tuple[tuple[str, ...], Callable[..., Any]]:
    """Compiles the expression `root` into a function. Returns the sorted names of its symbols, and
    the function, which takes the values of these symbols in this order. `arrays`: whether the
    values are NumPy arrays."""
    names, code = _code(root)
    space = _space(arrays)
    exec(code, space)
    function = space["found"]
    assert callable(function), "the compiled text defines it"
    return names, function


@lru_cache(maxsize=8192)
def _code(root: Expr) -> tuple[tuple[str, ...], CodeType]:
    """Returns the sorted names of the symbols in `root`, and byte code. The byte code defines a
    function `found`, which takes the values of the symbols and returns the value of `root`.

    The byte code is the same for numbers and for arrays. Only the functions that it calls differ
    (`_space`).
    """
    names = sorted(one.key for one in root.free_symbols)
    known: dict[Expr, str] = {symbol(name): f"s{place}" for place, name in enumerate(names)}
    lines: list[str] = []

    def text(one: Expr) -> str:
        """Returns the source text of a part of the expression. The text is a number, or the name of
        a variable. The variable has the value of a symbol or the result of an operation."""
        if one.name == "number":
            value = one.value
            if isinstance(value, Fraction):
                return f"({value.numerator} / {value.denominator})"
            return f"({value!r})"
        if one.name == "named":
            return text(one.operands[0])
        if one not in known:
            args = [text(each) for each in one.operands]
            sign, called = INFIX.get(one.name), {"not": "Not"}.get(one.name, one.name)
            done = f" {sign} ".join(args) if sign else f"{called}({', '.join(args)})"
            known[one] = f"t{len(lines)}"
            lines.append(f"    {known[one]} = {done}")
        return known[one]

    answer = text(root)
    parameters = ", ".join(f"s{place}" for place in range(len(names)))
    source = "\n".join((f"def found({parameters}):", *lines, f"    return {answer}"))
    return tuple(names), compile(source, "<description>", "exec")
