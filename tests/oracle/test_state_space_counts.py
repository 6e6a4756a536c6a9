"""Tests that dfslab finds the published numbers of markings of two nets: the Kanban system, and
philosophers who pick up both sticks at once."""

from __future__ import annotations

import pytest
from dfslab.nets.build import Net, Put
from dfslab.nets.engine import state_space


def kanban(cards: int) -> Net:
    """Returns the Kanban system of Ciardo and Tilgner (ICASE report 96-35): four cells with `cards`
    cards each. A part is processed, and then leaves the cell or is reworked. Cells 2 and 3 receive
    and release their parts at the same time."""
    net = Net("kanban")
    free = [net.place(f"kanban{at}", initial=[()] * cards) for at in range(1, 5)]
    work, rework, done = (
        [net.place(f"{name}{at}") for at in range(1, 5)] for name in ("work", "rework", "done")
    )
    for at in range(4):
        net.transition(f"finish{at + 1}", [work[at]], [Put(done[at])])
        net.transition(f"reject{at + 1}", [work[at]], [Put(rework[at])])
        net.transition(f"repair{at + 1}", [rework[at]], [Put(work[at])])
    net.transition("enter", [free[0]], [Put(work[0])])
    net.transition("split", [done[0], free[1], free[2]], [Put(free[0]), Put(work[1]), Put(work[2])])
    net.transition("join", [done[1], done[2], free[3]], [Put(free[1]), Put(free[2]), Put(work[3])])
    net.transition("leave", [done[3]], [Put(free[3])])
    return net


@pytest.mark.parametrize(("cards", "markings"), [(1, 160), (2, 4_600), (3, 58_400)])
def test_the_kanban_system_has_the_published_number_of_markings(cards: int, markings: int):
    report = state_space(kanban(cards))
    assert report.complete
    assert report.markings == markings
    assert report.dead_markings == 0
    assert report.home_markings == markings
    assert report.bounds["work4"] == (0, cards)


def table_of(count: int) -> Net:
    """Returns a net of philosophers, each of whom picks up both sticks at once (Jensen 1992)."""
    net = Net("philosophers")
    sticks = [net.place(f"stick{at}", initial=[()]) for at in range(count)]
    for at in range(count):
        own, next_one = sticks[at], sticks[(at + 1) % count]
        thinks, eats = net.place(f"thinks{at}", initial=[()]), net.place(f"eats{at}")
        net.transition(f"take{at}", [thinks, own, next_one], [Put(eats)])
        net.transition(f"put{at}", [eats], [Put(thinks), Put(own), Put(next_one)])
    return net


@pytest.mark.parametrize(("count", "markings", "arcs"), [(4, 7, 16), (5, 11, 30), (8, 47, 208)])
def test_philosophers_who_take_both_sticks_have_lucas_numbers_of_markings(
    count: int, markings: int, arcs: int
):
    report = state_space(table_of(count))
    assert (report.markings, report.arcs) == (markings, arcs)
    assert report.home_markings == markings
    assert len(report.live_transitions) == 2 * count
