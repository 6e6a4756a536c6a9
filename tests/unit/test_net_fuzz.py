"""Tests that damaged net definitions are refused with a one-line error message and never crash the
engine."""

from __future__ import annotations

import copy
import json
import random

import pytest
from dfslab import _core as core

NET = {
    "name": "damaged",
    "enums": {"hue": ["red", "green"]},
    "colours": {
        "job": [
            ["id", "int"],
            ["size", "real"],
            ["last", "bool"],
            ["hue", "hue"],
            ["q", "list int"],
        ],
        "unit": [],
    },
    "constants": {"rate": 2.5},
    "functions": {
        "twice": {"parameters": [["n", "int"]], "result": "int", "body": "if(n > 9, 0, 2 * n)"}
    },
    "tables": {"steps": {"edges": [0.0, 1.0, 2.0], "weights": [1, 3]}},
    "places": [
        {"name": "start", "colour": "job", "initial": [[1, 4.0, False, "red", [1, 2]]]},
        {"name": "half", "colour": "job", "discipline": "min:size"},
        {"name": "lock", "colour": "unit", "initial": [[]]},
    ],
    "transitions": [
        {
            "name": "work",
            "priority": 2,
            "guard": "a.size > 0 && !a.last",
            "in": [{"place": "start", "var": "a"}, {"place": "lock"}],
            "locals": [{"name": "d", "type": "real", "value": "empirical(steps)"}],
            "out": [
                {
                    "place": "half",
                    "token": ["twice(a.id)", "a.size / rate + d", "true", "green", "tail(a.q)"],
                    "delay": "exponential(0.5)",
                    "count": "length(a.q)",
                },
                {"place": "lock", "delay": 1},
            ],
        },
        {
            "name": "back",
            "weight": 1.5,
            "guard": "a.id == b.id",
            "in": [{"place": "half", "var": "a"}, {"place": "start", "var": "b"}],
            "out": [{"place": "start", "token": "a"}],
            "inhibit": [{"place": "lock", "at_least": 3}],
            "reset": [{"place": "half"}],
        },
    ],
}
JUNK = (
    *(None, True, -1, 0, 1.5, 1e308, 10**30, "", "a", "a.id", "(", "a..b", "1 +", "head([])"),
    *("list job", "min:q", "é", "\u0000", "9" * 400, [], [[]], {}, {"a": 1}, "twice(twice)"),
)


def damage(value, chance: random.Random):
    """Damages the JSON value `value` in place. A randomly chosen part of the value is removed,
    repeated or replaced by an invalid value. If the part is a text, one of its characters may be
    changed instead. An empty value stays as it is."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = chance.choice(keys)
    inner = value[key]
    if isinstance(inner, dict | list) and inner and chance.random() < 0.8:
        damage(inner, chance)
    elif chance.random() < 0.25:
        del value[key]
    elif isinstance(inner, str) and inner and chance.random() < 0.5:
        at = chance.randrange(len(inner))
        value[key] = inner[:at] + chance.choice("()+.,=![]\"'1a ") + inner[at + 1 :]
    elif isinstance(value, list) and chance.random() < 0.3:
        value.append(copy.deepcopy(inner))
    else:
        value[key] = copy.deepcopy(chance.choice(JUNK))


@pytest.mark.parametrize("block", range(5))
def test_five_hundred_damaged_nets_give_one_line_each(block: int):
    core.net_check(json.dumps(NET))
    refused = 0
    for seed in range(100 * block, 100 * block + 100):
        chance = random.Random(seed)
        net = copy.deepcopy(NET)
        for _ in range(chance.randint(1, 3)):
            damage(net, chance)
        try:
            core.net_check(json.dumps(net))
            core.net_run(json.dumps(net), json.dumps({"max_firings": 50, "max_tokens": 1000}))
        except (core.InputError, core.RunError) as error:
            line = str(error)
            refused += 1
            assert line.strip(), f"seed {seed}"
            assert "\n" not in line, f"seed {seed}"
            assert len(line) < 1_200, f"seed {seed}"
    assert refused >= 50
