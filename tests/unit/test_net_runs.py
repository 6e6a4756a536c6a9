"""Tests of runs of small nets: whether they are deterministic, when they stop, and how monitors,
queueing disciplines and priorities work."""

from __future__ import annotations

import json
import math

import pytest
from dfslab import _core as core


def run_text(net: dict, **options) -> str:
    return core.net_run(json.dumps(net), json.dumps(options))


def run(net: dict, **options) -> dict:
    """Runs a net and returns the report of the first replication."""
    return json.loads(run_text(net, **options))["replications"][0]


def queue_net(discipline: str = "fifo", order=(3, 1, 2)) -> dict:
    """Returns a net whose jobs wait in one place. The jobs leave the place one by one. The queueing
    discipline determines their order."""
    return {
        "name": "queue",
        "colours": {"job": [["id", "int"]], "unit": []},
        "places": [
            {
                "name": "wait",
                "colour": "job",
                "discipline": discipline,
                "initial": [[id] for id in order],
            },
            {"name": "server", "colour": "unit", "initial": [[]]},
            {"name": "end", "colour": "job"},
        ],
        "transitions": [
            {
                "name": "serve",
                "in": [{"place": "wait", "var": "j"}, {"place": "server"}],
                "out": [{"place": "end", "token": "j"}, {"place": "server"}],
                "delay": "exponential(1)",
            }
        ],
    }


LOG = {"kind": "log", "transition": "serve", "fields": ["j.id"]}


def order_of(answer: dict) -> list[int]:
    return [values[0] for _, values in answer["monitors"][0]["rows"]]


@pytest.mark.parametrize(
    ("discipline", "wanted"), [("fifo", [3, 1, 2]), ("lifo", [2, 1, 3]), ("min:id", [1, 2, 3])]
)
def test_disciplines(discipline, wanted):
    assert order_of(run(queue_net(discipline), monitors=[LOG])) == wanted


def test_random_discipline_is_uniform():
    """With the random discipline, all six orders of three jobs are equally frequent: the chi-square
    statistic is below its 0.999 quantile."""
    replications = 3000
    text = run_text(queue_net("random"), replications=replications, seed=5, monitors=[LOG])
    counts: dict[tuple, int] = {}
    for answer in json.loads(text)["replications"]:
        key = tuple(order_of(answer))
        counts[key] = counts.get(key, 0) + 1
    expected = replications / 6
    assert len(counts) == 6
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < 20.5


def test_threads_do_not_change_a_byte():
    net = queue_net("random", order=range(200))
    monitors = [LOG, {"kind": "sojourn", "from": "serve", "to": "serve", "key": "1"}]
    one, two, other = (
        run_text(net, replications=9, threads=threads, seed=seed, monitors=monitors)
        for threads, seed in ((1, 7), (2, 7), (2, 8))
    )
    assert one == two
    assert one != other
    # Replications use independent random streams, so they differ from each other.
    ends = [answer["end_time_ns"] for answer in json.loads(one)["replications"]]
    assert len(set(ends)) == len(ends)


def test_stops():
    net = queue_net(order=range(100))
    count = {"kind": "count", "transition": "serve"}
    assert run(net)["reason"] == "dead"
    assert run(net, max_firings=10) | {"end_time_ns": 0} == {
        "replication": 0,
        "end_time_ns": 0,
        "firings": 10,
        "reason": "max_firings",
        "warmed_up": True,
        "monitors": [],
    }
    ended = run(net, end_time_s=5.0)
    assert (ended["reason"], ended["end_time_ns"]) == ("end_time", 5_000_000_000)
    until = run(net, monitors=[count], until={"monitor": 0, "count": 7})
    assert (until["reason"], until["monitors"][0]["count"]) == ("until", 7)


def test_a_deadlock_is_reported_with_the_places_that_have_tokens():
    """Each of two processes holds what the other process needs. The report states that the net is
    in a deadlock and names the places that still have tokens."""
    takes = [("left", "a", "b"), ("right", "b", "a")]
    places = [{"name": name, "colour": "unit", "initial": [[]]} for name in ("a", "b")]
    transitions = []
    for who, first, second in takes:
        places.append({"name": f"{who}_holds", "colour": "unit"})
        places.append({"name": f"{who}_waits", "colour": "unit", "initial": [[]]})
        holds, waits = {"place": f"{who}_holds"}, {"place": f"{who}_waits"}
        transitions += [
            {"name": f"{who}_takes", "in": [waits, {"place": first}], "out": [holds]},
            {"name": f"{who}_works", "in": [holds, {"place": second}], "out": [waits]},
        ]
    net = {"name": "clasp", "colours": {"unit": []}, "places": places, "transitions": transitions}
    answer = run(net)
    assert (answer["reason"], answer["firings"]) == ("dead", 2)
    assert answer["left"] == {"left_holds": 1, "right_holds": 1}
    stopped = run(net, max_firings=1)
    assert "left" not in stopped


def test_log_counts_what_it_drops():
    answer = run(queue_net(order=range(50)), monitors=[{**LOG, "limit": 20}])
    log = answer["monitors"][0]
    assert (len(log["rows"]), log["count"], log["dropped"]) == (20, 50, 30)
    late = run(queue_net(order=range(50)), monitors=[{**LOG, "warm_up_count": 45}])
    assert order_of(late) == [45, 46, 47, 48, 49]


def test_marking_is_the_exact_time_average():
    """The monitor of a place reports the exact time average of the number of tokens. In this net,
    three services of 0.25 s each follow one another, and 2, 1 and 0 jobs wait during them. Then no
    transition is enabled any more."""
    net = queue_net()
    net["transitions"][0]["delay"] = "0.25"
    marking = {"kind": "marking", "place": "wait"}
    (observed,) = run(net, monitors=[marking], end_time_s=1.0)["monitors"]
    assert (observed["mean"], observed["most"], observed["last"], observed["window_s"]) == (
        1.0,
        3,
        0,
        0.75,
    )
    (warm,) = run(net, monitors=[marking], end_time_s=1.0, warm_up_s=0.25)["monitors"]
    assert (warm["mean"], warm["most"], warm["window_s"]) == (0.5, 2, 0.5)
    cold = run(net, monitors=[marking], warm_up_s=2.0)
    assert (cold["warmed_up"], cold["monitors"][0]["mean"]) == (False, None)


def conflict_net(first: dict, second: dict) -> dict:
    """Returns a net in which two transitions, with the given fields, compete for each token."""
    arc = [{"place": "wait", "var": "j"}]
    return {
        "name": "conflict",
        "colours": {"job": [["id", "int"]]},
        "places": [{"name": "wait", "colour": "job", "initial": [[id] for id in range(8000)]}],
        "transitions": [{"name": "a", "in": arc, **first}, {"name": "b", "in": arc, **second}],
    }


def shares(net: dict) -> list[int]:
    monitors = [{"kind": "count", "transition": name} for name in "ab"]
    return [monitor["count"] for monitor in run(net, seed=3, monitors=monitors)["monitors"]]


def test_priority_weight_and_definition_order():
    assert shares(conflict_net({}, {"priority": 1})) == [0, 8000]
    assert shares(conflict_net({}, {})) == [8000, 0]
    first, second = shares(conflict_net({"weight": 1}, {"weight": 3}))
    assert first + second == 8000
    # The number of firings of the first transition is binomial with p = 1/4. The number has to be
    # within 4 standard deviations of its mean.
    assert abs(first - 2000) < 4 * math.sqrt(8000 * 0.25 * 0.75)


def test_transition_delay_is_drawn_once():
    net = queue_net(order=[1])
    net["transitions"].append(
        {"name": "pair", "in": [{"place": "end", "var": "j"}, {"place": "server"}], "out": []}
    )
    monitors = [{"kind": "log", "transition": "pair"}]
    answer = run(net, monitors=monitors, seed=2)
    # The random delay of `serve` is drawn once for both of its output tokens, so both arrive at the
    # same time. The transition `pair` needs both tokens and therefore fires at that time.
    assert answer["monitors"][0]["rows"] == [[answer["end_time_ns"], []]]
    assert answer["end_time_ns"] > 0


def test_dispatch_on_a_constant_routes_each_token():
    """Forty transitions share one input place. Each of them takes only the tokens with its
    number."""
    takers = [
        {"name": f"to{at}", "guard": f"j.id == {at} && true", "in": [{"place": "wait", "var": "j"}]}
        for at in range(40)
    ]
    net = conflict_net({"guard": "j.id >= 40 && j.id < 7000"}, {"guard": "7000 == j.id"})
    net["transitions"] += takers
    names = ["a", "b", *(taker["name"] for taker in takers)]
    monitors = [{"kind": "count", "transition": name} for name in names]
    answer = run(net, monitors=monitors)
    assert [monitor["count"] for monitor in answer["monitors"]] == [6960, 1, *[1] * 40]
