"""Tests that the expressions in descriptions have the same value whether plain Python or SymPy
evaluates them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sympy
from dfslab import discover
from dfslab.spec.steps import operation as op
from dfslab.spec.steps.expression import Expr, Max, ceiling, symbol, sympify
from dfslab.spec.steps.numeric import function
from hypothesis import given
from hypothesis import strategies as st

SYSTEMS = list(discover.members(discover.FILE_SYSTEMS))


def expressions(system: str) -> Iterator[Expr]:
    """Yields those expressions in the operation trees of a file system that contain at least one
    symbol."""
    for tree in discover.file_system(system).operations.values():
        for node in op.walk(tree):
            for value in vars(node).values():
                if isinstance(value, Expr) and value.free_symbols:
                    yield value


def by_sympy(value: Expr, at: dict[str, float]) -> float:
    """Returns the value of an expression, computed by SymPy with exact numbers until the last step.
    `at` holds the values of the symbols. A true condition has the value 1, a false one 0."""
    found = sympify(value)
    result = found.subs({s: sympy.Rational(at[s.name]) for s in found.free_symbols})
    return float(bool(result)) if result in (sympy.true, sympy.false) else float(result)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_expression_of_a_description_has_sympys_value(system):
    """Plain Python and SymPy give the same value at random integer parameters, for which ceilings
    and floors are exact in both."""
    random_source = random.Random(system)
    found = list(dict.fromkeys(expressions(system)))
    assert found, system
    for value in random_source.sample(found, min(len(found), 40)):
        names, numbers = function(value)
        at = {name: float(random_source.randint(1, 64)) for name in names}
        ours = float(numbers(*(at[name] for name in names)))
        # Extreme parameters give differences of large numbers, which lose precision in Python's
        # floating point.
        assert ours == pytest.approx(by_sympy(value, at), rel=1e-9), (value, at)
        _, arrays = function(value, arrays=True)
        many = np.asarray(arrays(*(np.array([at[name]] * 3) for name in names)), dtype=float)
        assert np.broadcast_to(many, 3) == pytest.approx(ours, rel=1e-12)


A, B = symbol("a"), symbol("b")
LEAVES = st.sampled_from([A, B]) | st.integers(0, 9)


def combined(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Returns a Hypothesis strategy for sums, differences, products, maxima and ceilings of the
    expressions in `children`."""
    pairs = st.tuples(children, children)
    return (
        pairs.map(lambda two: two[0] + two[1])
        | pairs.map(lambda two: two[0] - two[1])
        | pairs.map(lambda two: two[0] * two[1])
        | pairs.map(lambda two: Max(*two))
        | children.map(lambda one: ceiling(one * A / 8))
    )


@given(st.recursive(LEAVES, combined, max_leaves=8), st.integers(0, 50), st.integers(0, 50))
def test_any_expression_has_sympys_value(value, a, b):
    if not isinstance(value, Expr):
        value = A * 0 + value + A
    names, numbers = function(value)
    at = {"a": float(a), "b": float(b)}
    assert numbers(*(at[name] for name in names)) == pytest.approx(by_sympy(value, at), rel=1e-12)


def test_sympys_own_expressions_mix_with_them():
    """An expression of a description, combined with an expression of SymPy, becomes an expression
    of SymPy with the right value."""
    mixed = sympy.Max(A, 3) + sympy.ceiling(sympy.Symbol("b", nonnegative=True) / 2) * B
    at = {"a": 7.0, "b": 5.0}
    assert float(mixed.subs({s: at[s.name] for s in mixed.free_symbols})) == 7 + 3 * 5
    assert not isinstance(mixed, Expr)


def test_what_does_nothing_is_left_out():
    assert A + 0 is A
    assert 1 * A is A
    assert (A - A) == 0
    assert not (A * 0).free_symbols
    assert math.isclose(function(A / 4 + A / 4)[1](2.0), 1.0)
