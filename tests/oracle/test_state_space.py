"""Tests that state spaces have the known numbers of markings and arcs, and that properties such as
deadlocks and bounds are derived correctly from them."""

from __future__ import annotations

import math

import pytest
from dfslab.nets.build import Net, Put, Take
from dfslab.nets.engine import Game, state_space
from dfslab.spec.input_error import InputError


def philosophers(count: int) -> Net:
    """Returns a net of philosophers who take the left stick, then the right one, eat, and put both
    back."""
    net = Net("philosophers")
    person = net.colour("person", id=int)
    net.constant("n", count)
    everyone = list(range(count))
    think = net.place("think", person, everyone)
    sticks = net.place("sticks", person, everyone)
    has_left = net.place("has_left", person)
    eat = net.place("eat", person)
    net.transition(
        "left", [Take(think, "p"), Take(sticks, "s")], [Put(has_left, "p")], guard="p.id == s.id"
    )
    net.transition(
        "right",
        [Take(has_left, "p"), Take(sticks, "s")],
        [Put(eat, "p")],
        guard="s.id == (p.id + 1) % n",
    )
    net.transition(
        "done",
        [Take(eat, "p")],
        [Put(think, "p"), Put(sticks, "p"), Put(sticks, ["(p.id + 1) % n"])],
    )
    return net


def test_five_philosophers():
    """The state space of five philosophers has 82 markings and 265 arcs, as two other tools find.
    In its one dead marking all philosophers hold one stick."""
    report = state_space(philosophers(5))
    assert (report.markings, report.arcs) == (82, 265)
    assert report.complete
    assert report.dead_markings == 1
    (dead,) = report.dead_markings_shown
    assert list(dead) == ["has_left"]
    assert sorted(dead["has_left"]) == [[0], [1], [2], [3], [4]]
    assert report.home_markings == 1
    assert report.live_transitions == []
    assert report.dead_transitions == []
    assert report.bounds["eat"] == (0, 2)


def test_without_the_deadlock_everything_is_live_and_home():
    """If the philosophers take both sticks at once, no marking is dead, every transition is live,
    and every marking is a home marking."""
    net = philosophers(3)
    left, right, done = net.transitions
    think, sticks = left.takes[0].place, left.takes[1].place
    both = net.transition(
        "both",
        [Take(think, "p"), Take(sticks, "s"), Take(sticks, "t")],
        [Put(right.puts[0].place, "p")],
        guard="p.id == s.id && t.id == (p.id + 1) % n",
    )
    net.transitions[:] = [both, done]
    report = state_space(net)
    # Of three philosophers at most one eats. So the markings are: all think, or one of the three
    # eats.
    assert (report.markings, report.arcs) == (4, 6)
    assert report.home_markings == 4
    assert report.live_transitions == ["both", "done"]
    assert report.dead_markings == 0


@pytest.mark.parametrize(("tokens", "places"), [(3, 4), (5, 3), (7, 2)])
def test_a_ring_has_as_many_markings_as_ways_to_share(tokens, places):
    net = Net("ring")
    ring = [net.place(f"p{at}", initial=[()] * tokens if at == 0 else []) for at in range(places)]
    for at in range(places):
        net.transition(f"t{at}", [ring[at]], [Put(ring[(at + 1) % places], delay=1.5)])
    report = state_space(net)
    assert report.markings == math.comb(tokens + places - 1, places - 1)
    # Each marking has an arc for every transition whose input place is not empty.
    assert report.arcs == places * math.comb(tokens + places - 2, places - 1)
    assert report.bounds == {f"p{at}": (0, tokens) for at in range(places)}


def test_the_bound_on_size_holds_and_is_said():
    net = Net("grows")
    seed, heap = net.place("seed", initial=[()]), net.place("heap")
    net.transition("grow", [seed], [seed, heap])
    report = state_space(net, markings_max=50)
    assert not report.complete
    assert report.markings == 50
    assert "live_transitions" not in report


def test_chance_has_no_state_space():
    net = Net("dice")
    face = net.colour("face", n=int)
    dice = net.place("dice", face, [1])
    net.transition("roll", [dice], [Put(dice, ["discrete(0.5)"])])
    with pytest.raises(InputError, match="transition roll.*drawn at random"):
        state_space(net)


def test_inhibitor_reset_and_priority_in_the_token_game():
    net = Net("rules")
    a, b, c = net.place("a", initial=[()] * 3), net.place("b"), net.place("c")
    net.transition("move", [a], [Put(b, delay=2.0)], inhibit=[(b, 2)])
    net.transition("clear", [Take(b)], [c], reset=[b], priority=1, guard="")
    game = Game(net)
    names = lambda: [one.transition for one in game.enabled()]  # noqa: E731
    assert names() == ["move"]
    game.step()
    game.step()
    game.step()
    # All tokens arrive at the same time after their delay. The transition of higher priority then
    # fires first and removes all of them.
    assert game.state.time_s == 2.0
    assert names() == ["clear"]
    assert game.step().marking == {"c": [[]]}
    assert game.enabled() == []
    with pytest.raises(InputError, match="choice 0 is not among the 0"):
        game.step(0)


def test_the_way_to_a_dead_marking_and_to_the_most_tokens_is_a_shortest_one():
    """Reported paths are shortest paths. On the path to the dead marking, all five philosophers
    take their left stick.

    At most two philosophers can eat at the same time, and the path to this marking has four steps.
    """
    report = state_space(philosophers(5))
    assert report.dead_paths_shown == [["left"] * 5]
    assert sorted(report.paths_to_most["eat"]) == ["left", "left", "right", "right"]
    assert report.paths_to_most["think"] == []


def test_a_place_that_grows_says_how():
    net = Net("source")
    source, made = net.place("source", initial=[()]), net.place("made")
    net.transition("make", [source], [source, made])
    report = state_space(net, markings_max=10)
    assert not report.complete
    assert report.bounds["made"] == (0, 9)
    assert report.paths_to_most["made"] == ["make"] * 9
