"""Tests of inscriptions (expressions on arcs and transitions) that are built in Python. The tests
check the printed text of an inscription, the names in it, and the result that the engine computes
from the text."""

from __future__ import annotations

import random

import pytest
from dfslab.documents.net_run import LogMonitor
from dfslab.nets.build import Local, Net, Put, Take
from dfslab.nets.engine import run
from dfslab.nets.inscription import (
    call,
    equal,
    every,
    field,
    fields,
    flag,
    number,
    substituted,
    text,
    truth,
    unequal,
)
from dfslab.spec.input_error import InputError
from dfslab.spec.steps.expression import Condition, Expr, Max, Min, ceiling, floor, select, symbol

A, B = field("t", "a"), field("t", "b")


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (A + B * 2, "t.a + t.b * 2"),
        ((A + B) * 2, "(t.a + t.b) * 2"),
        (A - (B - 1), "t.a - (t.b - 1)"),
        (A - B - 1, "t.a - t.b - 1"),
        (A * (B * 2), "t.a * (t.b * 2)"),
        (A // 3 % 2, "t.a // 3 % 2"),
        (A % (B // 2), "t.a % (t.b // 2)"),
        (A + 1 < B, "t.b > t.a + 1"),
        (A < 3, "t.a < 3"),
        (symbol("most") >= A, "t.a <= most"),
        (equal(A, B) & (unequal(A, 1) | flag("t", "on")), "t.a == t.b && (t.a != 1 || t.on)"),
        (~flag("t", "on") & ~(A > 1), "!t.on && !(t.a > 1)"),
        (select(A > 1, B, 0.5), "if(t.a > 1, t.b, 0.5)"),
        (Min(A, B, 3), "min(min(t.a, t.b), 3)"),
        (ceiling(A / 2) - floor(Max(A, 1)), "ceil(t.a / 2) - floor(max(t.a, 1))"),
        (call("uniform", 0.0, 1.0), "uniform(0.0, 1.0)"),
        (call("list", A, 1), "[t.a, 1]"),
        (number(-2) + A, "-2 + t.a"),
        (truth(True), "true"),
    ],
)
def test_an_expression_is_printed_with_the_fewest_brackets(value, printed):
    assert text(value) == printed


def evaluated(value: Expr, row: dict[str, int]) -> int | bool:
    """Returns the value of an expression, computed in Python. `row` maps the fields in the
    expression to their values."""
    if value.name == "field":
        return row[value.args[1]]
    if value.name == "number":
        return value.args[0]
    parts = [evaluated(one, row) for one in value.args]
    return {
        "add": lambda: parts[0] + parts[1],
        "sub": lambda: parts[0] - parts[1],
        "mul": lambda: parts[0] * parts[1],
        "mod": lambda: parts[0] % parts[1],
        "floordiv": lambda: parts[0] // parts[1],
        "Max": lambda: max(parts),
        "Min": lambda: min(parts),
        "gt": lambda: parts[0] > parts[1],
        "ge": lambda: parts[0] >= parts[1],
        "eq": lambda: parts[0] == parts[1],
        "ne": lambda: parts[0] != parts[1],
        "and": lambda: parts[0] and parts[1],
        "or": lambda: parts[0] or parts[1],
        "not": lambda: not parts[0],
        "select": lambda: parts[1] if parts[0] else parts[2],
    }[value.name]()


def drawn(chance: random.Random, deep: int) -> Expr:
    """Returns a random integer expression that is at most `deep` operations deep."""
    if deep == 0 or chance.random() < 0.2:
        return chance.choice((A, B, number(chance.randint(-9, 9))))
    left, right = drawn(chance, deep - 1), drawn(chance, deep - 1)
    kind = chance.choice(("add", "sub", "mul", "mod", "floordiv", "Max", "Min", "select"))
    if kind in ("mod", "floordiv"):
        right = number(chance.randint(1, 9))
    if kind == "select":
        return Expr(kind, drawn_condition(chance, deep - 1), left, right)
    return Expr(kind, left, right)


def drawn_condition(chance: random.Random, deep: int) -> Condition:
    """Returns a random condition over integers that is at most `deep` operations deep."""
    kind = chance.choice(("gt", "ge", "eq", "ne", "and", "or", "not"))
    if kind in ("and", "or", "not") and deep > 0:
        parts = [drawn_condition(chance, deep - 1) for _ in range(1 if kind == "not" else 2)]
        return Condition(kind, *parts)
    kind = kind if kind in ("gt", "ge", "eq", "ne") else "gt"
    return Condition(kind, drawn(chance, deep - 1 if deep else 0), drawn(chance, 0))


@pytest.mark.parametrize("seed", range(40))
def test_the_engine_computes_what_the_tree_says(seed):
    chance = random.Random(seed)
    value, row = drawn(chance, 4), {"a": chance.randint(-20, 20), "b": chance.randint(-20, 20)}
    net = Net("drawn")
    pair, one = net.colour("pair", a=int, b=int), net.colour("one", n=int)
    start, end = net.place("start", pair, [row]), net.place("end", one)
    net.transition("go", [Take(start, "t")], [Put(end, ["v"])], locals=[Local("v", "int", value)])
    net.transition("tell", [Take(end, "e")])
    net.watch("values", LogMonitor(transition="tell", fields=["e.n"]))
    (report,) = run(net)
    assert report.logs["values"].rows[0] == (0, [evaluated(value, row)]), text(value)


def test_fields_are_replaced_by_what_is_put_there():
    value = Expr("add", A, Expr("mul", field("u", "a"), B))
    assert {text(one) for one in fields(value)} == {"t.a", "u.a", "t.b"}
    assert text(substituted(value, "t", {"a": B - 1})) == "t.b - 1 + u.a * t.b"
    assert substituted(value, "t", {"c": A}) is value


def test_a_token_knows_the_fields_of_its_colour():
    net = Net("typed")
    kind = net.enum("kind", "read", "write")
    job = net.colour("job", id=int, kind=kind, done=bool)
    token = job.token("j")
    rule = every([equal(token["kind"], kind["read"]), ~token["done"]])
    assert text(rule) == "j.kind == read && !j.done"
    with pytest.raises(InputError, match="the fields are id, kind, done"):
        token["size"]
    with pytest.raises(InputError, match="the values are read, write"):
        kind["append"]
    assert every([]) is None


def test_functions_locals_and_counts_are_built():
    net = Net("built")
    job, limit = net.colour("job", n=int), net.constant("limit", 3)
    net.function("double", {"n": "int"}, "int", symbol("n") * 2)
    start, end = net.place("start", job, [1, 2]), net.place("end", job)
    j = job.token("j")
    net.transition(
        "go",
        [Take(start, "j")],
        [Put(end, [symbol("twice") + symbol("turn")], count=limit)],
        locals=[Local("twice", "int", call("double", j["n"]))],
    )
    (report,) = run(net)
    assert report.left == {"end": 6}
    definition = net.document()
    assert definition.functions["double"].body == "n * 2"
    assert definition.transitions[0].out[0].count == "limit"
    with pytest.raises(InputError, match="function double: is declared twice"):
        net.function("double", {}, "int", 1)


def test_what_is_no_inscription_is_refused_in_one_line():
    net = Net("wrong")
    place = net.place("p", net.colour("job", n=int), [1])
    net.transition("t", [Take(place, "j")], [Put(place, [object()])])
    with pytest.raises(InputError) as caught:
        net.document()
    assert "net wrong" in str(caught.value)
    assert "\n" not in str(caught.value)
