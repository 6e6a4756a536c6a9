"""Tests that malformed nets and failed runs each give a one-line error message."""

from __future__ import annotations

import copy
import json
import os
import signal
import threading
import time

import pytest
from dfslab import _core as core

GOOD = {
    "name": "good",
    "colours": {"unit": [], "job": [["id", "int"], ["size", "real"], ["last", "bool"]]},
    "constants": {"rate": 6.0e7, "two": 2},
    "places": [
        {"name": "start", "colour": "job", "initial": [[1, 4096.0, False], [2, 1, True]]},
        {"name": "half", "colour": "job", "discipline": "min:size"},
        {"name": "lock", "colour": "unit", "initial": [[]]},
        {"name": "chance", "colour": "job", "discipline": "random"},
        {"name": "end", "colour": "job"},
    ],
    "transitions": [
        {
            "name": "split",
            "page": "client",
            "guard": "a.size > 0 && !a.last",
            "in": [{"place": "start", "var": "a"}, {"place": "lock"}],
            "out": [
                {
                    "place": "half",
                    "token": ["a.id", "a.size / two", "a.last"],
                    "delay": "a.size / rate",
                },
                {"place": "lock"},
            ],
            "delay": "exponential(0.001)",
        },
        {
            "name": "join",
            "page": "server",
            "guard": "a.id == b.id",
            "weight": 2,
            "in": [{"place": "half", "var": "a"}, {"place": "half", "var": "b"}],
            "inhibit": [{"place": "end", "at_least": 3}],
            "out": [{"place": "end", "token": "a"}],
        },
    ],
}


def good(**changes) -> dict:
    return {**copy.deepcopy(GOOD), **changes}


def with_place(**changes) -> dict:
    net = good()
    net["places"][0].update(changes)
    return net


def with_transition(**changes) -> dict:
    net = good()
    net["transitions"][0].update(changes)
    return net


def with_output(**changes) -> dict:
    net = good()
    net["transitions"][0]["out"][0].update(changes)
    return net


def with_guard(guard: str) -> dict:
    return with_transition(guard=guard)


def first_field(text) -> dict:
    return with_output(token=[text, "1.0", "true"])


def without(net: dict, key: str) -> dict:
    del net[key]
    return net


def recorded(held="list job", initial=(), guard="a.jobs != []", token="a") -> dict:
    """Returns a net with a single place, whose tokens are lists of records. Each argument is a part
    of the net. A test replaces one of these parts by an invalid one."""
    return {
        "name": "records",
        "colours": {"job": [["id", "int"], ["size", "real"]], "line": [["jobs", held]]},
        "places": [{"name": "p", "colour": "line", "initial": list(initial)}],
        "transitions": [
            {
                "name": "t",
                "guard": guard,
                "in": [{"place": "p", "var": "a"}],
                "out": [{"place": "p", "token": token, "delay": 1}],
            }
        ],
    }


def listed(initial=(), discipline="fifo", guard="a.q != []", token="a") -> dict:
    return {
        "name": "lists",
        "enums": {"hue": ["red", "blue"]},
        "colours": {"item": [["q", "list int"], ["h", "list hue"]]},
        "places": [
            {"name": "p", "colour": "item", "initial": list(initial), "discipline": discipline}
        ],
        "transitions": [
            {
                "name": "turn",
                "in": [{"place": "p", "var": "a"}],
                "guard": guard,
                "out": [{"place": "p", "token": token, "delay": 1}],
            }
        ],
    }


SPLIT = "page client, transition split"
MALFORMED = [
    (without(good(), "name"), "missing field `name`"),
    (without(good(), "colours"), "missing field `colours`"),
    (good(wheels=4), "unknown field `wheels`"),
    (good(places={}), "expected a sequence"),
    (
        good(colours={"unit": [], "job": [["id", "word"]]}),
        "colour job, field id: unknown type 'word' (known: bool, int, real, text, and",
    ),
    (good(colours={"unit": [], "job": [["id", "int"], ["id", "int"]]}), "'id' is given twice"),
    (good(colours={"unit": [], "job": [["a b", "int"]]}), "'a b' is no field name"),
    (good(constants={"two words": 1}), "constant two words"),
    (good(places=GOOD["places"] + [GOOD["places"][0]]), "place start: is defined twice"),
    (good(transitions=GOOD["transitions"] * 2), "transition split: is defined twice"),
    (with_place(colour="jobs"), "place start: unknown colour 'jobs' (known: job, unit)"),
    (with_place(discipline="sorted"), "unknown discipline 'sorted' (known: fifo, lifo, random"),
    (with_place(discipline="min:weight"), "names no field (known: id, last, size)"),
    (with_place(initial=[[1, 2.0]]), "initial token 1: has 2 values, but colour job has 3"),
    (with_place(initial=[[1.5, 2.0, True]]), "field id is int, but the value is 1.5"),
    (with_place(initial=[[1, "x", True]]), 'field size is real, but the value is "x"'),
    (with_place(initial=[[1, 2.0, 1]]), "field last is bool, but the value is 1"),
    (with_place(initial=[[1e30, 2.0, True]]), "field id is int"),
    (with_place(initials=[]), "unknown field `initials`"),
    (with_transition(weight=0), f"{SPLIT}: the weight is 0; it must be a finite number"),
    (with_transition(weight=-1.0), "the weight is -1; it must be a finite number above 0"),
    (with_transition(priority="high"), "invalid type: string"),
    (with_transition(**{"in": []}), f"{SPLIT}: has no input arc"),
    (with_transition(**{"in": [{"place": "begin", "var": "a"}]}), "unknown place 'begin'"),
    (with_transition(**{"in": [{"place": "start", "var": "1a"}]}), "'1a' is no variable name"),
    (with_transition(**{"in": [{"place": "start", "var": "two"}]}), "also a constant"),
    (with_transition(**{"in": [{"place": "start", "var": "a"}] * 2}), "'a' is bound twice"),
    (with_transition(inhibit=[{"place": "nowhere"}]), "inhibitor arc: unknown place 'nowhere'"),
    (with_transition(inhibit=[{"place": "end", "at_least": 0}]), "at_least is 0"),
    (with_guard("a.size >"), "guard: 'a.size >' column 9: found the end"),
    (with_guard("a.size > 0 )"), "found ')', expected an operator or the end"),
    (with_guard("b.id == 1"), f"{SPLIT}, guard: unknown variable 'b' (known: a)"),
    (with_guard("a.weight > 1"), "'a' of colour job has no field 'weight'"),
    (with_guard("a.size"), "a guard is a bool, not real"),
    (with_guard("a.size && a.last"), "'&&' takes two bools, not real and bool"),
    (with_guard("a.last > 1"), "'>' takes two numbers, not bool and int"),
    (with_guard("1 > 2"), "the guard is always false"),
    (with_guard("1 // 0 == 1"), "cannot be evaluated"),
    (with_guard("discrete(0.5) == 1"), "discrete() draws at random, which is not allowed here"),
    (with_guard("a.last # 1"), "found '#'"),
    (with_guard("(" * 100 + "a.last" + ")" * 100), "nests at most 64 deep"),
    (with_guard("a.id + " * 100 + "1 > 0"), "chains at most 64 operators"),
    (with_output(place="middle"), "output arc 1 to middle: unknown place 'middle'"),
    (with_output(token="b"), "output arc 1 to half: token 'b' is no bound variable (known: a)"),
    (with_output(token=["a.id"]), "token has 1 values, but colour job has 3 fields"),
    (with_output(token={"id": 1}), "expected a list of expressions or a variable"),
    (with_output(token=None), "token is missing: colour job has fields"),
    (with_output(place="lock"), "token has 3 values, but colour unit has 0 fields"),
    (first_field("a.size"), f"{SPLIT}, output arc 1 to half, field id: the value is real"),
    (first_field("a"), "'a' is a whole token; name one field"),
    (first_field("speed"), "unknown constant 'speed' (known: rate, two)"),
    (first_field("a.id %"), "expected a number, a name, '(' or '['"),
    (first_field("a.size % 2"), "'%' takes two ints, not real and int"),
    (first_field("median(1, 2)"), "unknown function 'median'"),
    (first_field("max(1)"), "max() takes 2 arguments, not 1"),
    (first_field("if(1, 2, 3)"), "if() takes a bool first, not int"),
    (first_field("if(a.last, 2, true)"), "if() has int in one branch and bool in the other"),
    (first_field("-a.last"), "'-' takes a number, not bool"),
    (first_field("!a.id"), "'!' takes a bool, not int"),
    (first_field("99999999999999999999"), "is no 64-bit number"),
    (first_field(None), "found null, expected an expression or a number"),
    (with_output(delay="-1"), "output arc 1 to half, delay: the delay is -1 s"),
    (with_output(delay=1e12), "it must be between 0 and 9e9"),
    (with_output(delay=1e300), "the delay is 1e300 s; it must be between 0 and 9e9"),
    (with_output(count=-3), "count: the count is -3; it must be between 0 and 100000"),
    (with_output(delay="a.last"), "delay: the value is bool, expected real"),
    (with_output(delay="exponential(a.last)"), "exponential() takes numbers, not bool"),
    (with_transition(delay="later"), f"{SPLIT}, delay: unknown constant 'later'"),
    (good(colours={"unit": [], "job": [["id", "list"]]}), "field id: unknown type 'list'"),
    (good(colours={"unit": [], "job": [["id", "list word"]]}), "unknown type 'list word'"),
    (good(colours={"unit": [], "job": [["id", "list list int"]]}), "and lists of these"),
    (listed(initial=[[[1, True], []]]), "field q is int, but the value is [1,true]"),
    (listed(initial=[[1, []]]), "field q is a list of int, but the value is 1"),
    (listed(initial=[[[], [1]]]), "field h is of hue, but the value is [1] (known: blue, red)"),
    (listed(discipline="min:q"), "discipline 'min:q' names a list of int, which has no order"),
    (listed(guard="a.q > []"), "'>' takes two numbers, not a list of int and an empty list"),
    (listed(guard="a.q == a.h"), "not a list of int and a list of an enumeration"),
    (listed(guard="a.q"), "a guard is a bool, not a list of int"),
    (listed(guard="contains(a.q, red)"), "contains() takes int here, not an enumeration"),
    (listed(guard="length(1) == 1"), "length() takes a list, not int"),
    (listed(guard="length() == 1"), "length() takes 1 argument, not 0"),
    (listed(guard="at(a.q, 0.5) == 1"), "at() takes int here, not real"),
    (listed(guard="head([]) == 1"), "head() of the empty list has no value"),
    (listed(guard="[1, true] == []"), "a list holds one type, not int and bool"),
    (listed(guard="[a.q] == []"), "a list cannot hold lists"),
    (listed(guard="[1, 2 == []"), "expected ']'"),
    (listed(guard="[1,] == a.q"), "expected a number, a name, '(' or '['"),
    (listed(guard="a.q[0] == 1"), "found '[', expected an operator or the end"),
    (recorded("list line"), "unknown type 'list line'"),
    (recorded(initial=[[[[1, 2.0, 3]]]]), "field jobs is a record, but the value is [[1,2.0,3]]"),
    (recorded(initial=[[[[1, "x"]]]]), 'field jobs is real, but the value is [[1,"x"]]'),
    (recorded(guard="job(1) == head(a.jobs)"), "job() takes 2 arguments, not 1"),
    (recorded(guard="job(1, true) == head(a.jobs)"), "the record's field size is real, not bool"),
    (recorded(guard="head(a.jobs) == 1"), "'==' takes two numbers, not a record and int"),
    (recorded(guard="head(a.jobs).width > 1"), "a record has no field 'width' (known: id, size)"),
    (recorded(guard="a.jobs.id == 1"), "a list of records has no field 'id'"),
    (recorded(guard="a == a"), "'a' is a whole token; name one field"),
    (recorded(guard="contains(a.jobs, 1)"), "contains() takes a record here, not int"),
    (recorded(token="head(a.jobs)"), "the token is a record of another colour than the place's"),
    (recorded(token="tail(a.jobs)"), "the token is a list of records, expected a record"),
    (recorded(token=["[job(1, 2), 3]"]), "a list holds one type, not a record and int"),
    (listed(token=["cons(a.q, 1)", "a.h"]), "cons() takes a list, not int"),
    (listed(token=["append(a.q, 1.5)", "a.h"]), "append() takes int here, not real"),
    (listed(token=["concat(a.q, a.h)", "a.h"]), "concat() takes a list of int here"),
    (listed(token=["[0.5]", "a.h"]), "the value is a list of real, expected a list of int"),
    (listed(token=["head(a.q)", "a.h"]), "the value is int, expected a list of int"),
    (listed(token=[[1], "a.h"]), "found [1], expected an expression or a number"),
    (listed(token=["if(a.q == [], a.q, a.h)", "a.h"]), "if() has a list of int in one branch"),
]


@pytest.mark.parametrize(("net", "words"), MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_net(net, words):
    with pytest.raises(core.InputError) as caught:
        core.net_check(json.dumps(net))
    line = str(caught.value)
    assert words in line
    assert "\n" not in line
    assert len(line) < 600


def test_there_are_enough_malformed_nets():
    assert len(MALFORMED) >= 40


def test_the_good_net_is_good():
    checked = json.loads(core.net_check(json.dumps(GOOD)))
    assert (checked["places"], checked["transitions"], checked["tokens"]) == (5, 2, 3)
    assert [scan["place"] for scan in checked["scans"]] == ["half", "half"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "null", '{"name": 1}', '{"colours": {"a": [], "a": []}}', "\x00"]
)
def test_no_net_at_all(text):
    with pytest.raises(core.InputError) as caught:
        core.net_check(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"replications": 0}, "replications is 0; it must be between 1"),
        ({"threads": 0}, "threads is 0"),
        ({"end_time_s": -1}, "end_time_s is -1"),
        ({"end_time_s": 5, "warm_up_s": 5}, "warm_up_s is 5; it must be below end_time_s"),
        ({"max_firings": 0}, "max_firings is 0"),
        ({"seeds": 1}, "unknown field `seeds`"),
        ({"seed": -1}, "expected u64"),
        ({"monitors": [{"kind": "clock"}]}, "unknown variant `clock`"),
        ({"monitors": [{"kind": "count", "transition": "x"}]}, "unknown transition 'x'"),
        ({"monitors": [{"kind": "marking", "place": "x"}]}, "unknown place 'x'"),
        ({"monitors": [{"kind": "marking", "place": "end", "n": 1}]}, "unknown field `n`"),
        ({"monitors": [{"kind": "log", "transition": "split", "fields": ["b.id"]}]}, "'b'"),
        (
            {"monitors": [{"kind": "log", "transition": "split", "fields": ["[1]"]}]},
            "a log holds single values, not a list of int",
        ),
        (
            {"monitors": [{"kind": "sojourn", "from": "split", "to": "join", "key": "a.size"}]},
            "the value is real, expected int",
        ),
        ({"until": {"monitor": 0, "count": 1}}, "until.monitor is 0, but there are 0 monitors"),
        (
            {
                "monitors": [{"kind": "marking", "place": "end"}],
                "until": {"monitor": 0, "count": 1},
            },
            "makes no count",
        ),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(core.InputError) as caught:
        core.net_run(json.dumps(GOOD), json.dumps(options))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def loop(**changes) -> dict:
    turn = {
        "name": "turn",
        "in": [{"place": "p", "var": "a"}],
        "out": [{"place": "p", "token": ["a.n + 1"], "delay": "0.5"}],
    }
    return {
        "name": "loop",
        "colours": {"n": [["n", "int"]]},
        "places": [{"name": "p", "colour": "n", "initial": [[0]]}, {"name": "q", "colour": "n"}],
        "transitions": [{**turn, **changes}],
    }


def out(delay="0.5", token="a.n") -> list[dict]:
    return [{"place": "p", "token": [token], "delay": delay}]


@pytest.mark.parametrize(
    ("net", "options", "words"),
    [
        (loop(out=out("1 - a.n - 1.5")), {}, "output arc 1 to p, delay, at 0 s: the delay is -0.5"),
        (loop(out=out("sqrt(a.n - 1)")), {}, "the delay is NaN s"),
        (loop(out=out("1 / a.n")), {}, "the delay is inf s"),
        (loop(out=out("exponential(a.n - 1)")), {}, "exponential(): the parameter -1 is out"),
        (loop(out=out(token="1 // a.n")), {}, "field n, at 0 s: integer division by zero"),
        (loop(out=out(token="a.n - 9223372036854775807 - 2")), {}, "an int left the 64-bit"),
        (loop(out=out(token="floor(1 / a.n)")), {}, "inf has no int value"),
        (loop(guard="10 // a.n > 1"), {}, "page main, transition turn, guard"),
        (
            loop(out=out("0")),
            {"max_instant_firings": 1000},
            "livelock); most often: page main, transition turn",
        ),
        (
            loop(out=out() + [{"place": "q", "token": "a"}]),
            {"max_tokens": 1000},
            "more than 1000 tokens, most of them in place q",
        ),
        (loop(out=out("8e9")), {}, "the clock left its range"),
        (
            listed([[[1], []]], token=["tail(tail(a.q))", "a.h"]),
            {},
            "field q, at 0 s: tail() of an empty list",
        ),
        (
            listed([[[1], []]], token=["[at(a.q, 3)]", "a.h"]),
            {},
            "at(): a list of 1 has no element 3",
        ),
        (listed([[[], []]], guard="head(a.q) == 1"), {}, "guard, at 0 s: head() of an empty list"),
        (
            listed([[[1], []]], token=["concat(a.q, a.q)", "a.h"]),
            {},
            "a list grew beyond 100000 elements",
        ),
    ],
)
def test_runs_that_go_wrong(net, options, words):
    with pytest.raises(core.RunError) as caught:
        core.net_run(json.dumps(net), json.dumps(options))
    line = str(caught.value)
    assert words in line
    assert line.startswith("replication 0, ")
    assert "\n" not in line


def test_interruption_ends_a_long_run():
    """Ctrl-C while the engine fires transitions raises KeyboardInterrupt long before the end of the
    run."""
    start_s = time.monotonic()

    def interrupted():
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        core.net_run(json.dumps(loop()), json.dumps({"max_firings": 1_000_000_000_000}))

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    # The whole run would take a day.
    assert time.monotonic() - start_s < 600
