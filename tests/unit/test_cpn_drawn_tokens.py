"""Tests of which token a firing of a net of CPN Tools takes: it is drawn, as CPN Tools does."""

from __future__ import annotations

import pytest
from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_run import LogMonitor
from dfslab.nets import engine
from dfslab.nets.cpn import cpn_write
from support.nets import read_cpn

from tests.support.cpn_constructs import Step, color, file_of, var

COLOURS = [
    color("INT", "<int/>"),
    color("T", "<timed/><int/>"),
    color("ONE", "<enum><id>one</id></enum>"),
    color("CHANCE", "<enum><id>ok</id><id>lost</id></enum>"),
    color("LIST", "<list><id>INT</id></list>"),
    color("PAIR", "<product><id>INT</id><id>INT</id></product>"),
]
VARIABLES = [
    var(name, colour)
    for name, colour in {
        "n": "INT",
        "k": "INT",
        "m": "INT",
        "t": "T",
        "c": "CHANCE",
        "q": "LIST",
        "u": "ONE",
    }.items()
]


def net_of(places: dict[str, tuple[str, str]], steps: list[Step]) -> NetDefinition:
    return read_cpn(file_of([*COLOURS, *VARIABLES], places, steps))


def disciplines(net: NetDefinition) -> dict[str, str]:
    return {place.name: place.discipline for place in net.places}


def drawn_chances() -> NetDefinition:
    """Returns a net that takes and returns one of nine tokens `ok` and one token `lost`, once a
    second. It counts the seconds since `lost` was taken."""
    return net_of(
        {"urn": ("CHANCE", "9`ok ++ 1`lost"), "clock": ("T", "1`0")},
        [
            Step(
                "draw",
                {"clock": "t", "urn": "c"},
                {"clock": "(if c = lost then 0 else t + 1) @+ 1", "urn": "c"},
            )
        ],
    )


@pytest.mark.parametrize("again", [False, True], ids=["read", "written and read again"])
def test_runs_of_equal_outcomes_have_the_lengths_of_independent_draws(again: bool):
    """The number of tokens `ok` before a token `lost` is geometric: its square has the mean
    0.9 * 1.9 / 0.01 = 171. If tokens took turns, each run had nine of them: the mean was 81."""
    net = read_cpn(cpn_write.write(drawn_chances())) if again else drawn_chances()
    firing = net.transitions[0]
    names = {arc.place: arc.var for arc in firing.in_}
    since, drawn = f"{names['clock']}.value", f"{names['urn']}.value"
    (found,) = engine.collect(
        net, "draw", f"{since} * {since}", f"{drawn} == lost", end_time_s=100_000
    )
    squares = [value for _, value in found]
    assert sum(float(str(one)) for one in squares) / len(squares) == pytest.approx(171, rel=0.06)


def test_a_token_that_a_guard_selects_is_drawn_among_those_that_fit():
    places = {"pool": ("INT", "1`1 ++ 1`2 ++ 1`3 ++ 1`4"), "done": ("INT", "")}
    net = net_of(places, [Step("take", {"pool": "n"}, {"done": "n"}, "[n > 1]")])
    firsts = set()
    for seed in range(40):
        log = LogMonitor(transition="take", fields=["n.value"])
        (report,) = engine.run(net, {"log": log}, seed=seed, max_firings=1)
        firsts.add(report.logs["log"].rows[0][1][0])
    assert firsts == {2, 3, 4}


def test_places_where_the_choice_has_no_effect_keep_the_order_of_arrival():
    """A list, a counter and a server never have two tokens, and tokens of one value are equal."""
    places = {
        "next": ("T", "1`0"),
        "queue": ("LIST", "1`[]"),
        "free": ("ONE", "1`one"),
        "busy": ("T", ""),
        "equal": ("ONE", "5`one"),
        "done": ("INT", ""),
    }
    steps = [
        Step("arrive", {"next": "n", "queue": "q"}, {"next": "(n + 1) @+ 1", "queue": "q^^[n]"}),
        Step("start", {"queue": "n::q", "free": "u"}, {"queue": "q", "busy": "n @+ 1"}),
        Step("stop", {"busy": "t"}, {"free": "one", "done": "t"}),
        Step("use", {"done": "n", "equal": "u"}, {}),
    ]
    found = disciplines(net_of(places, steps))
    assert {name for name, one in found.items() if one == "random"} == {"done"}


def test_a_place_that_a_transition_may_fill_twice_is_drawn():
    places = {"next": ("INT", "1`0"), "busy": ("INT", ""), "free": ("ONE", "2`one")}
    steps = [
        Step("start", {"next": "n", "free": "u"}, {"next": "n + 1", "busy": "n"}),
        Step("stop", {"busy": "n"}, {"free": "one"}),
    ]
    assert disciplines(net_of(places, steps)) == {"next": "fifo", "busy": "random", "free": "fifo"}


def test_a_token_that_a_condition_may_make_is_at_most_one():
    places = {"state": ("INT", "1`0"), "half": ("INT", "")}
    steps = [
        Step("go", {"state": "n"}, {"half": "if n > 2 then 1`n else empty"}),
        Step("back", {"half": "n"}, {"state": "n"}),
    ]
    assert set(disciplines(net_of(places, steps)).values()) == {"fifo"}


def test_places_of_several_tokens_that_are_joined_keep_the_order_of_arrival():
    """A counter of one token joins a place whose tokens are drawn. Two places of several tokens
    are found by a table of their equal fields."""
    several = "1`(1, 1) ++ 1`(1, 2) ++ 1`(2, 3)"
    for other, discipline in (("1`1", "random"), ("1`1 ++ 1`2", "fifo")):
        places = {"packets": ("PAIR", several), "next": ("INT", other), "sent": ("INT", "")}
        step = Step("send", {"packets": "(n, k)", "next": "n"}, {"next": "n", "sent": "k"})
        found = disciplines(net_of(places, [step]))
        assert found["packets"] == discipline
        assert found["next"] == "fifo"
