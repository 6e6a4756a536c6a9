"""Tests of the ratio of the costs of two programs that are measured in alternation. A planted
slowdown of one program is found, and for programs of equal cost the verdict is "undecided"."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))

import paired  # noqa: E402

SESSIONS = 60
ROUNDS = 15
TEAMS = ("plain 1", "plain 2", "traced 1", "traced 2")
ALONE = [[team] for team in TEAMS]


def session(lots: random.Random, slowdown: float) -> list[dict[str, float]]:
    """Returns the rounds of a simulated measurement. Each round is a dictionary from the name of
    each program in TEAMS to its cost. The programs "traced 1" and "traced 2" cost `slowdown` times
    as much as the plain ones. The machine's speed drifts by far more than that."""
    rounds, speed = [], 1.0
    for order in paired.orders(ALONE, ROUNDS):
        speed *= lots.lognormvariate(0, 0.1)
        cost = {team: slowdown if team.startswith("traced") else 1.0 for team in order}
        rounds.append({team: speed * cost[team] * lots.lognormvariate(0, 0.02) for team in order})
    return rounds


@pytest.mark.parametrize("slowdown", [1.0, 1.03])
def test_the_interval_holds_what_was_planted_as_often_as_it_says(slowdown):
    seed = 6
    lots = random.Random(seed)
    found = [paired.ratio(session(lots, slowdown), TEAMS[2:], TEAMS[:2]) for _ in range(SESSIONS)]
    held = sum(one.low <= slowdown <= one.high for one in found)
    assert held >= 0.8 * SESSIONS, f"{held} of {SESSIONS}, seed {seed}"
    assert sum(one.low > 1 for one in found) >= (0.8 if slowdown > 1 else 0) * SESSIONS
    assert sum(one.low > 1 for one in found) <= (1 if slowdown > 1 else 0.15) * SESSIONS


def test_nobody_always_follows_the_same_one():
    before = {team: set() for team in TEAMS}
    for order in paired.orders(ALONE, 40):
        assert sorted(order) == sorted(TEAMS)
        for first, then in zip(order, order[1:], strict=False):
            before[then].add(first)
    assert all(len(found) == len(TEAMS) - 1 for found in before.values())


def test_those_of_a_group_follow_each_other_in_either_order():
    found = set()
    for order in paired.orders([TEAMS[:1], TEAMS[1:2], TEAMS[2:]], 40):
        assert sorted(order) == sorted(TEAMS)
        at = order.index("traced 1")
        found.add((order.index("traced 2") - at, at == 0))
    assert {step for step, _ in found} == {1, -1}
    assert {first for _, first in found} == {True, False}
