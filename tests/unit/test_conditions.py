"""Tests that a condition of the step language has the same meaning when it is printed, evaluated
with numbers, and used in a branch."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sympy
from dfslab.models.tree.formula import formula
from dfslab.spec.steps import operation as op
from dfslab.spec.steps.expression import Max, ceiling, named, readable, select, symbol, sympify
from dfslab.spec.steps.node import Either, Visitor
from dfslab.spec.steps.numeric import function
from dfslab.spec.systems.parameters import COMMON

A, B, C = map(symbol, "abc")
CASES = [
    (A | B, "a or b", lambda a, b, c: bool(a or b)),
    (~(A & B), "not (a and b)", lambda a, b, c: not (a and b)),
    (~A, "not a", lambda a, b, c: not a),
    (~(A > 1), "a ≤ 1", lambda a, b, c: a <= 1),
    (A >= B, "a ≥ b", lambda a, b, c: a >= b),
    ((A > 1) & ~(B | C), "a > 1 and not (b or c)", lambda a, b, c: a > 1 and not (b or c)),
    (A + 1 > B * (C - 1), "a + 1 > b · (c - 1)", lambda a, b, c: a + 1 > b * (c - 1)),
]
VALUES = [(a, b, c) for a in (0.0, 1.0, 2.0) for b in (0.0, 1.0) for c in (0.0, 1.0, 3.0)]


@pytest.mark.parametrize(("condition", "text", "meant"), CASES, ids=[text for _, text, _ in CASES])
def test_a_condition_says_what_it_prints(condition, text, meant):
    assert readable(condition) == text
    assert pickle.loads(pickle.dumps(condition)) == condition
    names, holds = function(condition)
    _, many = function(condition, arrays=True)
    for values in VALUES:
        here = dict(zip("abc", values, strict=True))
        expected = meant(*values)
        assert bool(holds(*(here[name] for name in names))) is expected
        assert list(many(*(np.array([here[name]] * 2) for name in names))) == [expected] * 2
        by_sympy = sympify(condition).subs({symbol(k).symbolic: v for k, v in here.items()})
        assert bool(by_sympy) is expected


def test_a_condition_is_no_number_and_no_answer():
    with pytest.raises(TypeError, match="use select"):
        (A > 1) + 1
    with pytest.raises(TypeError, match="only known with parameters"):
        bool(A > 1)


def test_a_comparison_with_sympys_own_is_sympys():
    other = sympy.Symbol("other", nonnegative=True)
    assert (other < A) == sympy.Lt(other, sympify(A))
    assert (other > A) == sympy.Gt(other, sympify(A))


def test_an_amount_may_depend_on_a_condition():
    amount = select(A | B, C * 2, 5)
    assert readable(amount) == "(c · 2 if a or b else 5)"
    names, number = function(amount)
    assert names == ("a", "b", "c")
    assert [number(*values) for values in ((0, 0, 3), (1, 0, 3), (0, 1, 3))] == [5, 6, 6]
    _, many = function(amount, arrays=True)
    found = many(np.array([0, 1]), np.array([0, 0]), np.array([3, 3]))
    assert found.tolist() == [5, 6]


def test_a_named_amount_keeps_its_value_and_prints_its_name():
    blocks = named("blocks", Max(1, ceiling(A / B)))
    assert readable(blocks - 1) == "blocks - 1"
    assert function(blocks - 1)[1](7.0, 2.0) == 3
    assert sympify(blocks) == sympify(blocks.args[1])


def test_either_is_one_branch_and_when_is_one_or_none():
    tree = op.either(COMMON["file_size"].symbol > 10, op.delay("client", 2), op.delay("client", 3))
    derived = formula("choice", tree).expanded()
    size = sympy.Symbol("file_size", nonnegative=True)
    assert [derived.subs(size, value) for value in (10, 11)] == [3, 2]
    assert isinstance(op.when(A, op.delay("client", 1)), Either)
    assert formula("when", op.when(A, op.delay("client", 1))).total.subs(A.symbolic, 0) == 0


def test_a_reader_that_forgets_a_node_cannot_be_made():
    methods = {name: lambda self, node, where: None for name in Visitor.__abstractmethods__}
    whole = type("Whole", (Visitor,), methods)
    assert whole().visit(op.delay("client", 1), None) is None
    for name in methods:
        kept = {key: value for key, value in methods.items() if key != name}
        forgetful = type("Forgetful", (Visitor,), kept)
        with pytest.raises(TypeError, match=name):
            forgetful()
