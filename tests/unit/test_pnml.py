"""Tests of PNML files. If a net is written to a file and read again, the result equals the net. A
malformed file gives a one-line error message."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from dfslab.nets.build import Net, Put, Take
from dfslab.nets.engine import check, state_space
from dfslab.nets.invariants import of_places
from dfslab.nets.pnml import pnml_read as pnml
from dfslab.nets.pnml import pnml_write
from dfslab.spec.input_error import InputError

GOOD = """<?xml version="1.0"?>
<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
 <net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet"><name><text>buffer</text></name>
  <page id="one">
   <place id="p1"><name><text>free</text></name>
    <initialMarking><text>3</text></initialMarking></place>
   <place id="p2"><name><text>full</text></name></place>
   <transition id="t1"><name><text>put</text></name></transition>
   <transition id="t2"><name><text>get</text></name></transition>
   <arc id="a1" source="p1" target="t1"/>
   <arc id="a2" source="t1" target="p2"/>
   <arc id="a3" source="p2" target="t2"><inscription><text>2</text></inscription></arc>
   <arc id="a4" source="t2" target="p1"><inscription><text>2</text></inscription></arc>
  </page>
 </net>
</pnml>
"""


def test_a_bounded_buffer_behaves_as_drawn():
    report = state_space(pnml.read(GOOD))
    # The place `full` has 0 to 3 tokens. The transition `put` adds one token and needs a place with
    # fewer than 3 tokens. The transition `get` takes two tokens and needs at least 2.
    assert (report.markings, report.arcs) == (4, 5)
    assert report.bounds == {"free": (0, 3), "full": (0, 3)}
    assert report.live_transitions == ["put", "get"]


def random_net(seed: int) -> Net:
    """Returns a random net of four places, with arc weights up to three and some inhibitor and
    reset arcs."""
    chance = random.Random(seed)
    net = Net(f"random{seed}")
    places = [net.place(f"p{at}", initial=[()] * chance.randrange(4)) for at in range(4)]
    pick = lambda: chance.choice(places)  # noqa: E731
    for at in range(chance.randint(1, 5)):
        net.transition(
            f"t{at}",
            [Take(pick(), count=chance.randint(1, 3)) for _ in range(chance.randint(1, 2))],
            [Put(pick(), count=chance.randint(1, 2)) for _ in range(chance.randrange(3))],
            inhibit=[(pick(), chance.randint(1, 3))] if chance.random() < 0.3 else [],
            reset=[pick()] if chance.random() < 0.2 else [],
        )
    return net


@pytest.mark.parametrize("seed", range(30))
def test_written_and_read_again_it_behaves_alike(seed):
    net = random_net(seed)
    again = pnml.read(pnml_write.write(net))
    found, wanted = state_space(again, 500), state_space(net, 500)
    assert found == wanted, f"seed {seed}"


def test_what_pnml_has_no_words_for_is_kept_as_text():
    net = Net("timed")
    job = net.colour("job", id=int)
    place = net.place("jobs", job, [1, 2])
    net.transition(
        "work", [Take(place, "j")], [Put(place, ["j.id + 1"], "exponential(1)")], guard="j.id < 5"
    )
    text = pnml_write.write(net)
    assert "j.id &lt; 5" in text
    assert "exponential(1)" in text
    assert check(pnml.read(text)).tokens == 2


def weighted(taken: int, put: int, first: int) -> str:
    """Returns a net whose transition `put` takes and puts tokens by arcs with large weights."""
    text = GOOD.replace("<text>3</text>", f"<text>{first}</text>", 1)
    for arc, weight in (("a1", taken), ("a2", put), ("a3", put), ("a4", taken)):
        ends = text.split(f'<arc id="{arc}"')[1].split(">")[0].rstrip("/")
        old = text[text.index(f'<arc id="{arc}"') :].split("\n")[0]
        inner = f"<inscription><text>{weight}</text></inscription>"
        text = text.replace(old, f'<arc id="{arc}"{ends}>{inner}</arc>')
    return text


def test_the_state_space_of_large_weights_is_that_of_small_ones():
    # All weights and the first marking are 300 times those of a small net.
    small, large = (state_space(pnml.read(weighted(1 * k, 1 * k, 3 * k))) for k in (1, 300))
    assert (large.markings, large.arcs) == (small.markings, small.arcs) == (4, 6)
    assert large.bounds == {"free": (0, 900), "full": (0, 900)}
    assert large.live_transitions == small.live_transitions


def test_an_output_arc_of_ten_thousand_tokens():
    # The net has the transition `put` only, which can fire three times.
    kept = [line for line in GOOD.split("\n") if 'id="a3"' not in line and 'id="a4"' not in line]
    text = (
        "\n".join(kept)
        .replace('target="p2"/>', 'target="p2"><inscription><text>10000</text></inscription></arc>')
        .replace('<transition id="t2"><name><text>get</text></name></transition>', "")
    )
    net = pnml.read(text)
    assert state_space(net).bounds == {"free": (0, 3), "full": (0, 30_000)}
    assert state_space(pnml.read(pnml_write.write(net))) == state_space(net)


def test_invariants_count_the_tokens_of_large_weights():
    found = of_places(pnml.read(weighted(50, 100, 100)))
    assert [str(one) for one in found] == ["2 free + full = 200"]


WRONG = [
    ("<text>2</text>", "<text>901</text>", "at most 900 tokens; if the weights and the initial"),
    ("<text>2</text>", "<text>100001</text>", "a whole number from 1 to 100000"),
    ("<pnml", "<pnmx", "is no XML"),
    ("</pnml>", "", "is no XML"),
    ('<?xml version="1.0"?>', '<!DOCTYPE a [<!ENTITY b "c">]>', "entities are not read"),
    ("ptnet", "pt-hlpng", "ptnet and symmetric nets are read"),
    ('source="p1"', 'source="p9"', "is no place or transition"),
    ('target="t1"', 'target="p2"', "must join a place and a transition"),
    ('id="p2"', 'id="p1"', "the id is used twice"),
    ('<place id="p2">', "<place>", "has no id"),
    ("<text>3</text>", "<text>-3</text>", "a whole number from 0"),
    ("<text>3</text>", "<text>x</text>", "a whole number from 0"),
    ("<text>3</text>", "<text>99999999999999999999</text>", "a whole number from 0"),
    ("<text>2</text>", "<text>0</text>", "a whole number from 1"),
    ("<text>2</text>", "<text></text>", "a whole number from 1"),
    ('id="a1"', 'id="a1" type="zigzag"', "the type must be normal, inhibitor or reset"),
    ('id="a2"', 'id="a2" type="inhibitor"', "goes from a place to a transition"),
    ('<transition id="t1">', '<referenceTransition id="t1">', "no XML"),
    (
        '<place id="p2"><name><text>full</text></name></place>',
        '<referencePlace id="p2" ref="p1"/>',
        "is not read",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG)
def test_malformed_files(old, new, words):
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        pnml.read(GOOD.replace(old, new, 1))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", range(150))
def test_damaged_files_never_do_more_than_give_one_line(seed):
    """A damaged file is either read or refused with a one-line error message. A damaged file never
    crashes the reader. The test deletes, doubles and swaps bytes of a file."""
    chance = random.Random(seed)
    text = GOOD
    for _ in range(chance.randint(1, 4)):
        cuts = sorted(chance.randrange(len(text)) for _ in range(2))
        before, middle, after = (text[a:b] for a, b in pairwise([0, *cuts, len(text)]))
        piece = middle[:40]
        text = chance.choice(
            [
                before + after,
                before + piece + piece + after,
                after + middle + before,
                before + "\x00&<" + after,
            ]
        )
    line = refusal(text)
    assert "\n" not in line, f"seed {seed}"
    assert len(line) < 700, f"seed {seed}"


def refusal(text: str) -> str:
    """Returns the reason why a file is refused, or an empty text if it is read."""
    try:
        check(pnml.read(text))
    except InputError as error:
        return str(error)
    return ""
