"""Tests of place invariants: known invariants are found, and every reachable marking satisfies
them."""

from __future__ import annotations

import json
import random

import pytest
from dfslab.nets import engine
from dfslab.nets.build import Net, Put
from dfslab.nets.invariants import of_places
from dfslab.spec.input_error import InputError
from support.command import dfslab
from support.nets import definition, plain


def words(net: Net) -> list[str]:
    return [str(one) for one in of_places(net)]


def test_readers_and_a_writer():
    net = Net("readers")
    idle, lock = net.place("idle", initial=[()] * 3), net.place("lock", initial=[()] * 3)
    reads, writes = net.place("reads"), net.place("writes")
    net.transition("read", [idle, lock], [reads])
    net.transition("stop reading", [reads], [idle, lock])
    net.transition("write", [idle, lock, lock, lock], [writes])
    net.transition("stop writing", [writes], [idle, *[lock] * 3])
    assert words(net) == ["idle + reads + writes = 3", "lock + reads + 3 writes = 3"]


def test_the_command_prints_invariants_on_request(tmp_path):
    net = Net("pair")
    a, b = net.place("a", initial=[()]), net.place("b")
    net.transition("move", [a], [b])
    net.transition("back", [b], [a])
    path = tmp_path / "pair.json"
    path.write_text(json.dumps(plain(net)))
    shown = dfslab("net", "check", path, "--invariants")
    assert shown.returncode == 0, shown.stderr
    assert "a + b = 1" in shown.stdout
    document = json.loads(dfslab("net", "check", path, "--invariants", "--json").stdout)
    assert document["place_invariants"] == [{"weights": {"a": 1, "b": 1}, "tokens": 1}]
    assert "place_invariants" not in json.loads(dfslab("net", "check", path, "--json").stdout)


def test_what_grows_is_in_no_invariant():
    net = Net("source")
    source, made, lost = net.place("source", initial=[()]), net.place("made"), net.place("lost")
    net.transition("make", [source], [source, made])
    net.transition("lose", [made], [lost])
    assert words(net) == ["source = 1"]


def test_places_of_reset_and_counted_arcs_are_left_out():
    net = Net("reset")
    a, b, c = (net.place(name, initial=[()]) for name in "abc")
    net.transition("move", [a], [b])
    net.transition("back", [b], [a], reset=[c])
    assert words(net) == ["a + b = 2"]
    document = plain(net)
    document["transitions"][0]["out"][0]["count"] = "1 + 0"
    assert of_places(definition(document)) == []


@pytest.mark.parametrize("seed", range(20))
def test_a_firing_changes_no_invariant(seed: int):
    chance = random.Random(seed)
    net = Net(f"random{seed}")
    places = [net.place(f"p{at}", initial=[()] * chance.randint(0, 2)) for at in range(6)]
    for at in range(5):
        takes = chance.sample(places, chance.randint(1, 2))
        puts = chance.sample(places, len(takes) if chance.random() < 0.8 else 1)
        net.transition(f"t{at}", takes, [Put(one) for one in puts])
    found = of_places(net)
    game = engine.Game(net, seed)
    for _ in range(30):
        marking = game.state.marking
        for one in found:
            total = sum(len(marking.get(name, ())) * w for name, w in one.weights.items())
            assert total == one.tokens, f"seed {seed}: {one}"
        if not game.enabled():
            break
        game.step(chance.randrange(len(game.enabled())))


def test_too_many_are_refused():
    with pytest.raises(InputError, match="has more than 2000 sums to look at"):
        of_places(wide(60))


def wide(count: int) -> Net:
    """Returns a net with `count` left places and `count` right places. One transition takes a
    token from every left place and puts one into every right place. Another transition does the
    reverse."""
    net = Net("wide")
    left = [net.place(f"l{at}", initial=[()]) for at in range(count)]
    right = [net.place(f"r{at}") for at in range(count)]
    net.transition("over", left, right)
    net.transition("back", right, left)
    return net
