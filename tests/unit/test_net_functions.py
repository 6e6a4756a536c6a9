"""Tests of texts, functions, local names and multiplicities in nets. A valid construct gives the
right result. An invalid construct gives a one-line error."""

from __future__ import annotations

from typing import Any

import pytest
from dfslab.method import RunFailed
from dfslab.nets import engine
from dfslab.spec.input_error import InputError
from support.nets import definition

FUNCTIONS = {
    "sum": {
        "parameters": [["l", "list int"]],
        "result": "int",
        "body": "if(l == [], 0, head(l) + sum(tail(l)))",
    },
    "down": {
        "parameters": [["n", "int"]],
        "result": "list int",
        "body": "if(n <= 0, [], cons(n, down(n - 1)))",
    },
    "noisy": {"parameters": [["x", "real"]], "result": "real", "body": "uniform(x, x + 1)"},
    "endless": {"parameters": [["n", "int"]], "result": "int", "body": "endless(n + 1)"},
    "twice": {
        "parameters": [["n", "int"]],
        "result": "int",
        "body": "if(n <= 0, 1, twice(n - 1) + twice(n - 1))",
    },
}


def net(**changes: Any) -> dict[str, Any]:
    """Returns a net that moves two tokens through one transition. `changes` replace inscriptions of
    the net."""
    out = {"place": "done", "token": ["a.n", "a.s"]}
    out |= {key: changes.pop(key) for key in ("token", "count", "delay") if key in changes}
    serve = {"name": "serve", "in": [{"place": "start", "var": "a"}], "out": [out]}
    serve |= {key: changes.pop(key) for key in ("guard", "locals") if key in changes}
    document = {
        "name": "values",
        "colours": {"item": [["n", "int"], ["s", "text"]]},
        "functions": FUNCTIONS,
        "places": [
            {"name": "start", "colour": "item", "initial": [[1, "a"], [3, 'b"\\']]},
            {"name": "done", "colour": "item"},
        ],
        "transitions": [serve],
    }
    return document | changes


def done(document: dict[str, Any]) -> list[Any]:
    game = engine.Game(definition(document))
    while game.enabled():
        game.step()
    return game.state.marking.get("done", [])


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"token": ["sum(down(a.n))", "a.s"]}, [[1, "a"], [6, 'b"\\']]),
        ({"token": ["length(a.s)", "concat(a.s, text(a.n))"]}, [[1, "a1"], [3, 'b"\\3']]),
        ({"token": ['compare(a.s, "b")', 'if(a.s < "b", "low", "")']}, [[-1, "low"], [1, ""]]),
        ({"guard": 'a.s == "b\\"\\\\"'}, [[3, 'b"\\']]),
        ({"count": "a.n - 1", "token": ["turn", "a.s"]}, [[0, 'b"\\'], [1, 'b"\\']]),
        ({"count": "if(a.n > 1, 1, 0)"}, [[3, 'b"\\']]),
        (
            {
                "locals": [
                    {"name": "d", "type": "list int", "value": "down(a.n)"},
                    {"name": "e", "type": "int", "value": "length(d) * 10"},
                ],
                "token": ["e + sum(d)", "a.s"],
            },
            [[11, "a"], [36, 'b"\\']],
        ),
    ],
)
def test_values_are_what_they_say(changes, wanted):
    document = net(**changes)
    assert done(document) == wanted
    (report,) = engine.run(definition(document))
    assert report.left.get("done", 0) == len(wanted)


def test_the_clock_is_no_part_of_a_state_space():
    document = net(token=["floor(now())", "a.s"], delay=2.0)
    document["transitions"].append(
        {
            "name": "again",
            "in": [{"place": "done", "var": "a"}],
            "out": [{"place": "start", "token": ["floor(now() * 10)", "a.s"]}],
            "guard": "a.n == 0",
        }
    )
    assert done(document) == [[2, "a"], [2, 'b"\\']]
    with pytest.raises(InputError, match="or of the clock; a state space has neither"):
        engine.state_space(definition(document))


def test_a_local_is_drawn_once_for_all_outputs():
    out = [{"place": "done", "token": ["floor(x * 1000000)", "a.s"]}] * 2
    document = net(locals=[{"name": "x", "type": "real", "value": "noisy(1.0)"}])
    document["transitions"][0]["out"] = out
    numbers = [row[0] for row in done(document)]
    assert numbers[0] == numbers[1] != numbers[2] == numbers[3]
    with pytest.raises(InputError, match="a state space has neither"):
        engine.state_space(definition(document))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"token": ["endless(a.n)", "a.s"]}, "more than 1000 deep or 1000000 times"),
        ({"token": ["twice(40)", "a.s"]}, "more than 1000 deep or 1000000 times"),
        ({"count": "a.n - 2"}, "count: the count is -1; it must be between 0 and 100000"),
        ({"count": "a.n * 1000000"}, "it must be between 0 and 100000"),
        (
            {"locals": [{"name": "x", "type": "int", "value": "head(tail(down(1)))"}]},
            r"transition serve, local x, at 0 s: head\(\) of an empty list",
        ),
    ],
)
def test_runs_that_go_wrong_stop_in_one_line(changes, words):
    with pytest.raises(RunFailed, match=words) as caught:
        engine.run(definition(net(**changes)))
    assert "\n" not in str(caught.value)


def function(**changes: Any) -> dict[str, Any]:
    one = {"parameters": [["n", "int"]], "result": "int", "body": "n"} | changes
    return {"functions": FUNCTIONS | {"own": one}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (function(body="m"), "function own: unknown constant 'm'"),
        (function(body="n +"), r"function own: 'n \+' column 4: found the end"),
        (function(body="[n]"), "function own: the value is a list of int, expected int"),
        (function(result="word"), "function own: unknown type 'word'"),
        (function(parameters=[["n", "int"], ["n", "int"]]), "'n' is no name, or is given twice"),
        (function(parameters=[[f"p{at}", "int"] for at in range(17)], body="p1"), "more than 16"),
        ({"functions": {"head": FUNCTIONS["twice"]}}, "function head: the name is of letters"),
        ({"token": ["sum(1)", "a.s"]}, r"sum\(\) takes a list of int for l, not int"),
        ({"token": ["sum()", "a.s"]}, r"sum\(\) takes 1 argument, not 0"),
        ({"guard": "noisy(1.0) > 1.5"}, r"noisy\(\) draws at random, which is not allowed here"),
        ({"guard": "now() > 1.0"}, r"now\(\) reads the clock, which is not allowed here"),
        ({"guard": "turn == 1"}, "unknown constant 'turn'"),
        ({"token": ["turn", "a.s"]}, "unknown constant 'turn'"),
        ({"count": "a.s"}, "count: the value is a text, expected int"),
        ({"token": ["a.n", "a.s + a.s"]}, r"'\+' takes two numbers, not a text and a text"),
        ({"token": ["a.n", '"open']}, "a text has no end"),
        ({"token": ["a.n", "head(a.s)"]}, r"head\(\) takes a list, not a text"),
        ({"locals": [{"name": "x", "type": "word", "value": 1}]}, "local x: unknown type 'word'"),
        ({"locals": [{"name": "turn", "type": "int", "value": 1}]}, "is no name of letters"),
        ({"locals": [{"name": "x", "type": "int", "value": "x"}]}, "unknown constant 'x'"),
        ({"locals": [{"name": "x", "type": "int", "value": "a.s"}]}, "the value is a text"),
    ],
)
def test_malformed_values_give_one_line(changes, words):
    with pytest.raises(InputError, match=words) as caught:
        engine.check(definition(net(**changes)))
    assert "\n" not in str(caught.value)


def test_texts_that_grow_do_not_fill_the_memory():
    """The memory of a text is freed when no token has the text any more. In this test, every firing
    makes a new text. Memory must not grow with the number of firings."""
    document = net(token=["a.n + 1", "text(a.n)"], guard="a.n < 200000")
    document["places"][0]["initial"] = [[1, ""]]
    document["transitions"][0]["out"][0]["place"] = "start"
    (report,) = engine.run(definition(document))
    assert report.left == {"start": 1}
