"""Tests of choices in nets of CPN Tools and PNML. CPN Tools draws which of several transitions
fires and which value a free variable has. Only tokens of timed colour sets wait for a delay."""

from __future__ import annotations

from collections import Counter

import pytest
from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_run import LogMonitor
from dfslab.nets import engine
from dfslab.nets.cpn import cpn_write
from dfslab.nets.pnml import pnml_read
from dfslab.spec.input_error import InputError
from support.nets import read_cpn

from tests.support.cpn_constructs import Step, color, file_of, var

JOBS = 2_000
COLOURS = [
    color("UNIT", "<unit/>"),
    color("INT", "<int/>"),
    color("NODE", "<int><with><ml>1</ml><ml>4</ml></with></int>"),
    color("PAIR", "<product><id>NODE</id><id>NODE</id></product>"),
    color("T", "<timed/><int/>"),
    color("ALSO", "<alias><id>T</id></alias>"),
]
VARIABLES = [
    var(name, colour)
    for name, colour in {"n": "INT", "t": "T", "x": "NODE", "y": "NODE", "also": "ALSO"}.items()
]


def net_of(places: dict[str, tuple[str, str]], steps: list[Step]) -> NetDefinition:
    return read_cpn(file_of([*COLOURS, *VARIABLES], places, steps))


def left(net: NetDefinition, seed: int = 0) -> dict[str, int]:
    """Runs the net until it is dead. Returns the number of tokens in each place."""
    (report,) = engine.run(net, seed=seed)
    assert report.reason == "dead"
    return {place: report.left.get(place, 0) for place in ("one", "two", "three")}


def chi_square(counts: list[int]) -> float:
    expected = sum(counts) / len(counts)
    return sum((count - expected) ** 2 / expected for count in counts)


CONFLICT = (
    {"pool": ("INT", f"{JOBS}`1"), "one": ("INT", ""), "two": ("INT", ""), "three": ("INT", "")},
    [Step(f"to {name}", {"pool": "n"}, {name: "n"}) for name in ("one", "two", "three")],
)


def test_transitions_that_compete_for_a_token_fire_equally_often():
    found = left(net_of(*CONFLICT))
    assert sum(found.values()) == JOBS
    # The 0.999 quantile of the chi-square distribution with two degrees of freedom.
    assert chi_square(list(found.values())) < 13.8


def test_transitions_that_compete_do_so_after_writing_and_reading_again():
    found = left(read_cpn(cpn_write.write(net_of(*CONFLICT))))
    assert chi_square(list(found.values())) < 13.8


def test_only_transitions_that_may_compete_have_weights():
    places = {"pool": ("INT", "5`1"), "one": ("INT", ""), "two": ("INT", "")}
    steps = [Step("a", {"pool": "n"}, {"one": "n"}), Step("b", {"one": "n"}, {"two": "n"})]
    assert [one.weight for one in net_of(places, steps).transitions] == [None, None]
    assert [one.weight for one in net_of(*CONFLICT).transitions] == [1.0] * 3


def test_transitions_of_a_pnml_net_that_compete_fire_equally_often():
    found = left(pnml_read.read(f"<pnml xmlns='{pnml_read.NAMESPACE}'>{PNML}</pnml>"))
    assert found["one"] + found["two"] == JOBS
    assert chi_square([found["one"], found["two"]]) < 10.8


def _pnml_arc(at: int, source: str, target: str) -> str:
    return f"<arc id='a{at}' source='{source}' target='{target}'/>"


PNML = (
    f"<net id='n' type='{pnml_read.PTNET}'><page id='p'>"
    f"<place id='pool'><initialMarking><text>{JOBS}</text></initialMarking></place>"
    "<place id='one'/><place id='two'/><transition id='t'/><transition id='u'/>"
    + _pnml_arc(1, "pool", "t")
    + _pnml_arc(2, "pool", "u")
    + _pnml_arc(3, "t", "one")
    + _pnml_arc(4, "u", "two")
    + "</page></net>"
)


def pairs(guard: str) -> Counter[tuple[int, int]]:
    """Returns how often two free variables had each pair of values."""
    places = {"pool": ("INT", f"{JOBS}`1"), "served": ("PAIR", "")}
    net = net_of(places, [Step("serve", {"pool": "n"}, {"served": "(x, y)"}, guard)])
    log = LogMonitor(transition="serve", fields=["x.value", "y.value"], limit=JOBS)
    (report,) = engine.run(net, {"values": log})
    return Counter((one, other) for _, (one, other) in report.logs["values"].rows)


@pytest.mark.parametrize("guard", ["", "[n > 0]", "[x <> y]", "[x < y]", "[x <> y, n > 0]"])
def test_free_variables_take_all_values_that_the_guard_allows(guard: str):
    """All pairs of values occur that satisfy the guard. Without a condition on both variables, the
    pairs are equally frequent. With `x <> y`, the search draws the first value and then one of the
    other three values, so the pairs are equally frequent, too."""
    found = pairs(guard)
    holds = {"<>": lambda x, y: x != y, "<": lambda x, y: x < y}
    word = guard.split()[1] if "x" in guard else ""
    allowed = {
        (x, y) for x in range(1, 5) for y in range(1, 5) if holds.get(word, lambda x, y: True)(x, y)
    }
    assert set(found) == allowed
    if word != "<":
        # The 0.999 quantile of the chi-square distribution with 15 degrees of freedom.
        assert chi_square(list(found.values())) < 37.7


def test_a_delay_delays_tokens_of_timed_colour_sets_only():
    places = {
        "pool": ("INT", "1`1"),
        "one": ("INT", ""),
        "two": ("T", ""),
        "three": ("ALSO", ""),
        "done": ("INT", ""),
    }
    steps = [
        Step("serve", {"pool": "n"}, {"one": "n", "two": "n", "three": "n"}, time="@+5"),
        Step("early", {"one": "n"}, {"done": "n"}),
        Step("late", {"two": "t"}, {"done": "t"}),
        Step("also late", {"three": "also"}, {"done": "also"}),
    ]
    net = net_of(places, steps)
    logs = {step.name: LogMonitor(transition=step.name) for step in steps}
    (report,) = engine.run(net, logs)
    times = {name: log.rows[0][0] / 1e9 for name, log in report.logs.items()}
    assert times == {"serve": 0, "early": 0, "late": 5, "also late": 5}


@pytest.mark.parametrize(
    ("first", "puts"), [("1`1", "n@+3"), ("1`1@5", "n")], ids=["arc", "initial marking"]
)
def test_a_time_of_an_untimed_token_is_refused(first: str, puts: str):
    places = {"pool": ("INT", first), "one": ("INT", "")}
    with pytest.raises(InputError, match="colour set INT, which is not timed; declare it timed"):
        net_of(places, [Step("serve", {"pool": "n"}, {"one": puts})])


def test_delays_of_a_file_without_timed_colour_sets_are_kept():
    places = {"pool": ("INT", "1`1"), "one": ("INT", "")}
    plain = [one for one in COLOURS if "<timed/>" not in one and "ALSO" not in one]
    variables = [var("n", "INT")]
    text = file_of(
        [*plain, *variables], places, [Step("serve", {"pool": "n"}, {"one": "n"}, time="@+5")]
    )
    net = read_cpn(text)
    assert engine.run(net)[0].end_time_ns == 5_000_000_000


@pytest.mark.parametrize(("value", "rounded"), [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (2.6, 3)])
def test_halves_are_rounded_to_the_even_number_in_runs_and_in_files(value: float, rounded: int):
    places = {"pool": ("INT", "1`1"), "one": ("INT", "")}
    word = str(value).replace("-", "~")
    for puts in (f"round({word})", f"round({word} * Real.fromInt n)"):
        net = net_of(places, [Step("serve", {"pool": "n"}, {"one": puts})])
        game = engine.Game(net)
        game.step()
        assert game.state.marking["one"] == [[rounded]]


def test_a_state_space_has_first_tokens_with_time_stamps_from_the_beginning():
    """Each of two tokens is in one of two places, so there are four markings, and each has two
    firings. A token that is not there yet would double the markings of the other one."""
    places = {"one": ("T", "1`1@0 +++ 1`2@5"), "two": ("T", "")}
    steps = [Step("go", {"one": "t"}, {"two": "t @+ 3"}), Step("back", {"two": "t"}, {"one": "t"})]
    space = engine.state_space(net_of(places, steps))
    assert (space.markings, space.arcs, space.home_markings) == (4, 8, 4)
    assert space.bounds == {"one": (0, 2), "two": (0, 2)}
    assert space.live_transitions == ["go", "back"]
