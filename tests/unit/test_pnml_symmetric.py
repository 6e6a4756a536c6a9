"""Tests of symmetric nets in PNML: their sorts and terms, known state spaces, and a one-line
message for each error."""

from __future__ import annotations

import random

import pytest
from dfslab.nets import engine
from dfslab.nets.pnml import pnml_read as pnml
from dfslab.spec.input_error import InputError

TYPE = "http://www.pnml.org/version-2009/grammar/symmetricnet"


def variable(name: str) -> str:
    return f"<variable refvariable='{name}'/>"


def sub(*terms: str) -> str:
    return "".join(f"<subterm>{one}</subterm>" for one in terms)


def number_of(term: str, count: int = 1) -> str:
    number = f"<numberconstant value='{count}'><positive/></numberconstant>"
    return f"<numberof>{sub(number, term)}</numberof>"


def next_of(term: str) -> str:
    return f"<successor>{sub(term)}</successor>"


def both(*terms: str) -> str:
    return f"<add>{sub(*terms)}</add>"


def everyone(sort: str) -> str:
    return f"<all><usersort declaration='{sort}'/></all>"


def net(sorts: str, variables: dict[str, str], places: dict, transitions: dict) -> str:
    """Returns the PNML text of a net. `places` has the sort and the marking of each place.
    `transitions` has the condition and the arcs of each transition."""
    declared = sorts + "".join(
        f"<variabledecl id='{name}' name='{name}'><usersort declaration='{sort}'/></variabledecl>"
        for name, sort in variables.items()
    )
    parts = []
    for name, (sort, marking) in places.items():
        first = f"<hlinitialMarking><structure>{marking}</structure></hlinitialMarking>"
        parts.append(
            f"<place id='{name}'><name><text>{name}</text></name><type><structure>"
            f"<usersort declaration='{sort}'/></structure></type>{first if marking else ''}</place>"
        )
    for name, (condition, takes, puts) in transitions.items():
        guard = f"<condition><structure>{condition}</structure></condition>" if condition else ""
        parts.append(f"<transition id='{name}'>{guard}</transition>")
        ends = [(place, name, term) for place, term in takes.items()]
        ends += [(name, place, term) for place, term in puts.items()]
        parts += [
            f"<arc id='{source}-{target}' source='{source}' target='{target}'><hlinscription>"
            f"<structure>{term}</structure></hlinscription></arc>"
            for source, target, term in ends
        ]
    return (
        f"<pnml xmlns='http://www.pnml.org/version-2009/grammar/pnml'><net id='n' type='{TYPE}'>"
        f"<declaration><structure><declarations>{declared}</declarations></structure></declaration>"
        f"<page id='p'>{''.join(parts)}</page></net></pnml>"
    )


def philosophers(count: int) -> str:
    """Returns the PNML text of a net of dining philosophers, a model of the Model Checking Contest.

    A philosopher takes the two forks one after the other, in either order.
    """
    constants = "".join(f"<feconstant id='P{at}' name='{at}'/>" for at in range(count))
    sort = (
        "<namedsort id='Philo' name='Philo'>"
        f"<cyclicenumeration>{constants}</cyclicenumeration></namedsort>"
    )
    x = variable("x")
    one, following = number_of(x), number_of(next_of(x))
    return net(
        sort,
        {"x": "Philo"},
        {
            "Think": ("Philo", everyone("Philo")),
            "Fork": ("Philo", everyone("Philo")),
            "Catch1": ("Philo", ""),
            "Catch2": ("Philo", ""),
            "Eat": ("Philo", ""),
        },
        {
            "FF1a": ("", {"Think": one, "Fork": one}, {"Catch1": one}),
            "FF1b": ("", {"Think": one, "Fork": following}, {"Catch2": one}),
            "FF2a": ("", {"Catch1": one, "Fork": following}, {"Eat": one}),
            "FF2b": ("", {"Catch2": one, "Fork": one}, {"Eat": one}),
            "End": ("", {"Eat": one}, {"Think": one, "Fork": both(one, following)}),
        },
    )


@pytest.mark.parametrize("count", [3, 5])
def test_the_philosophers_of_the_contest(count: int):
    """The state space of n philosophers has 3^n markings, which are 243 for five philosophers. Each
    of the n forks is on the table or in the hand of one of its two neighbours. Two of the markings
    are dead."""
    report = engine.state_space(pnml.read(philosophers(count)))
    assert report.markings == 3**count
    assert report.dead_markings == 2


SORTS = (
    "<namedsort id='D' name='D'><dot/></namedsort>"
    "<namedsort id='R' name='R'><finiteintrange start='1' end='3'/></namedsort>"
    "<namedsort id='E' name='E'><finiteenumeration><feconstant id='a' name='a'/>"
    "<feconstant id='b' name='b'/></finiteenumeration></namedsort>"
    "<namedsort id='P' name='P'><productsort><usersort declaration='R'/>"
    "<usersort declaration='E'/></productsort></namedsort>"
)
R, E = variable("r"), variable("e")
PAIR = f"<tuple>{sub(R, E)}</tuple>"
B = "<useroperator declaration='b'/>"


def test_products_ranges_and_conditions():
    three = "<finiteintrangeconstant value='3'/>"
    less = f"<lessthan>{sub(R, three)}</lessthan>"
    is_b = f"<equality>{sub(E, B)}</equality>"
    condition = f"<and>{sub(less, f'<not>{sub(is_b)}</not>')}</and>"
    text = net(
        SORTS,
        {"r": "R", "e": "E"},
        {"from": ("P", everyone("P")), "to": ("R", ""), "count": ("D", "")},
        {
            "go": (
                condition,
                {"from": number_of(PAIR)},
                {"to": number_of(R, 2), "count": number_of("<dotconstant/>", 3)},
            )
        },
    )
    game = engine.Game(pnml.read(text))
    while game.enabled():
        game.step()
    marking = game.state.marking
    assert sorted(marking["to"]) == [[1], [1], [2], [2]]
    assert len(marking["count"]) == 6
    assert sorted(marking["from"]) == [[1, 1], [2, 1], [3, 0], [3, 1]]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<usersort declaration='Philo'/>", "<usersort declaration='Q'/>", "is no sort that is"),
        ("cyclicenumeration", "partition", "'partition': is not read: dots, enumerations, ranges"),
        ("refvariable='x'", "refvariable='y'", "'y': is not declared: x"),
        ("<successor>", "<shuffle>", "'shuffle': is no operator of the symmetric nets"),
        ("<add>", "<scalarproduct>", "write the number of each token"),
        ("<variabledecl", "<namedoperator", "'namedoperator': is not read: sorts and variables"),
        ("cyclicenumeration", "finiteenumeration", "is read of a variable or constant of a cyclic"),
        (next_of(variable("x")), "<successor/>", "has 0 terms; it needs one"),
        (next_of(variable("x")), "<not/>", "'not': is no operator of the symmetric nets"),
        (number_of(variable("x")), "<numberof/>", "'numberof': is no operator of the symmetric"),
    ],
)
def test_what_is_not_read_gives_one_line(old, new, words):
    text = philosophers(3)
    assert old in text
    text = text.replace(old, new).replace(old.replace("<", "</"), new.replace("<", "</"))
    with pytest.raises(InputError, match=words) as caught:
        pnml.read(text)
    assert "\n" not in str(caught.value)


def tokens_after(text: str, steps: int) -> list[list[list[int]]]:
    """Returns the tokens of the place "a" at the beginning and after each of `steps` firings."""
    game = engine.Game(pnml.read(text))
    found = [game.state.marking["a"]]
    for _ in range(steps):
        game.step()
        found.append(game.state.marking["a"])
    return found


@pytest.mark.parametrize("low", [-1, 0, 1, 7])
@pytest.mark.parametrize(("move", "step"), [("successor", 1), ("predecessor", -1)])
def test_the_smallest_value_of_a_range_follows_the_largest_one(low: int, move: str, step: int):
    sort = f"<namedsort id='R' name='R'><finiteintrange start='{low}' end='{low + 2}'/></namedsort>"
    first = (
        f"<finiteintrangeconstant value='{low}'><finiteintrange start='{low}' end='{low + 2}'/>"
        "</finiteintrangeconstant>"
    )
    moved = f"<{move}>{sub(R)}</{move}>"
    go = {"go": ("", {"a": number_of(R)}, {"a": number_of(moved)})}
    found = tokens_after(net(sort, {"r": "R"}, {"a": ("R", number_of(first))}, go), 4)
    assert found == [[[low + step * at % 3]] for at in range(5)]
    # The marking may contain the successor of a constant, too.
    moved = f"<{move}>{sub(first)}</{move}>"
    text = net(sort, {"r": "R"}, {"a": ("R", number_of(moved))}, go)
    assert tokens_after(text, 0) == [[[low + step % 3]]]


def test_copies_of_all_values_and_tuples_of_all_values_are_initial_tokens():
    every = f"<tuple>{sub(everyone('R'), everyone('E'))}</tuple>"
    go = {"go": ("", {"a": number_of(PAIR)}, {})}
    ((tokens),) = tokens_after(net(SORTS, {"r": "R", "e": "E"}, {"a": ("P", every)}, go), 0)
    assert sorted(tokens) == [[r, e] for r in (1, 2, 3) for e in (0, 1)]
    twice = number_of(everyone("R"), 2)
    go = {"go": ("", {"a": number_of(R)}, {})}
    ((tokens),) = tokens_after(net(SORTS, {"r": "R", "e": "E"}, {"a": ("R", twice)}, go), 0)
    assert sorted(tokens) == [[1], [1], [2], [2], [3], [3]]
    many = number_of(everyone("R"), 101)
    with pytest.raises(InputError, match="number of copies of all values is from 1 to 100"):
        pnml.read(net(SORTS, {"r": "R", "e": "E"}, {"a": ("R", many)}, go))


@pytest.mark.parametrize("seed", range(100))
def test_a_damaged_net_never_does_more_than_give_one_line(seed: int):
    """Deletes or exchanges terms of a net, which stays well-formed XML."""
    chance, text = random.Random(seed), philosophers(3)
    terms = [variable("x"), next_of(variable("x")), everyone("Philo"), number_of(variable("x"))]
    for _ in range(3):
        old, new = chance.choice(terms), chance.choice([*terms, "", "<not/>", "<tuple/>", "<all/>"])
        places = [at for at in range(len(text)) if text.startswith(old, at)]
        if places:
            at = chance.choice(places)
            text = text[:at] + new + text[at + len(old) :]
    assert "\n" not in refusal(text), f"seed {seed}"


def refusal(text: str) -> str:
    """Returns the reason why a file is refused; "" if it is read."""
    try:
        pnml.read(text)
    except InputError as error:
        return str(error)
    return ""
