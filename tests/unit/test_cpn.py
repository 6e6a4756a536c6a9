"""Tests of `.cpn` files. A net that is written and read again behaves in the same way, and a
malformed file gives a one-line error message."""

from __future__ import annotations

import dataclasses
import random
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from dfslab.documents.net_run import CountMonitor, MarkingMonitor
from dfslab.nets import engine
from dfslab.nets.build import Net, Put, Take
from dfslab.nets.cpn import cpn_write
from dfslab.nets.cpn.cpn_declarations import Declarations
from dfslab.nets.cpn.cpn_ml import conjuncts, parse
from dfslab.spec.input_error import InputError
from support.nets import read_cpn

# A net with a sender and, on a separate page, a receiver, in the form that CPN Tools writes.
GOOD = (Path(__file__).parents[2] / "scenarios" / "nets" / "protocol.cpn").read_text()


def test_a_net_of_two_pages_runs_as_drawn():
    document = read_cpn(GOOD)
    (report,) = engine.run(document, {"got": CountMonitor(transition="receiver.receive")})
    assert report.counts["got"].count == 2
    # Each of the two packets takes 5 s in a transition and 3 s on an arc. The second packet is sent
    # only after the answer to the first, so the net ends after 2 × 8 s.
    assert (report.reason, report.end_time_ns) == ("dead", 16_000_000_000)
    names = [one.name for one in document.transitions]
    assert names == ["transmit", "receiver.receive", "acknowledge"]
    assert engine.state_space(document).dead_markings == 1


def test_a_name_on_two_input_arcs_is_a_join():
    found = read_cpn(GOOD.replace("[n = m, n &gt; 0]", "[n &gt; 0]").replace(">m<", ">n<"))
    guard = found.transitions[0].guard
    assert "t2.value == n_d.f1" in guard
    assert engine.check(found).scans == []
    assert engine.run(found)[0].end_time_ns == 16_000_000_000


def example(seed: int) -> Net:
    """Returns a random net with colours of every kind, priorities, inhibitor and reset arcs, and
    delays."""
    chance = random.Random(seed)
    net = Net(f"example{seed}")
    hue = net.enum("hue", "red", "green")
    job = net.colour("job", id=int, size=float, hot=bool, h=hue, visited=[int], hues=[hue])
    net.constant("limit", 3)
    rows = [
        (at, at / 2, at % 2 == 0, "red" if at % 3 else "green", [at, -2][:at], ["red"])
        for at in range(4)
    ]
    queue, done = net.place("queue", job, rows), net.place("done", job)
    idle, count = net.place("idle", initial=[()] * chance.randint(1, 2)), net.place("count")
    guards = [
        "j.id >= 0 && j.h == hue.red",
        "!j.hot || j.id % 2 == 0",
        "j.size <= 1.5",
        "if(j.hot, j.id, 1) < limit",
        "-j.id <= 0 && j.id // 2 < 9",
        "j.visited == [] || contains([0, 3, at(j.visited, 0)], head(j.visited))",
    ]
    visited = [
        "append(j.visited, j.id)",
        "cons(j.id, j.visited)",
        "concat(reverse(j.visited), [7])",
        "if(length(j.visited) > 3, tail(j.visited), [1, 2])",
    ]
    net.transition(
        "serve",
        [Take(queue, "j"), idle],
        [
            Put(
                done,
                [
                    "j.id + 1",
                    "j.size * 2",
                    "!j.hot",
                    "green",
                    visited[seed % len(visited)],
                    "cons(hue.green, j.hues)",
                ],
                delay="0.5",
            ),
            Put(idle),
            Put(count),
        ],
        guard=guards[seed % len(guards)],
        delay=1.5,
        priority=seed % 3,
    )
    inhibit, reset = ([count] if seed % 2 else []), ([count] if seed % 3 else [])
    net.transition(
        "again",
        [Take(done, "j")],
        [Put(queue, "j")],
        guard="j.id < limit",
        inhibit=inhibit,
        reset=reset,
    )
    return net


@pytest.mark.parametrize("seed", range(12))
def test_written_and_read_again_it_behaves_alike(seed):
    net = example(seed)
    again = read_cpn(cpn_write.write(net))
    options = {"max_firings": 300, "monitors": {"queue": MarkingMonitor(place="queue")}}
    assert engine.run(again, **options) == engine.run(net, **options)
    # A second write and read of a net changes nothing: the transitions are those after the first
    # write and read.
    assert read_cpn(cpn_write.write(again)).transitions == again.transitions


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda net, place: net.transition("t", [place], weight=2.0), "has no weights"),
        (lambda net, place: net.transition("t", [place], inhibit=[(place, 2)]), "any token"),
        (lambda net, place: net.transition("t", [place], delay="lognormal(1, 2)"), "no word for"),
    ],
)
def test_what_cpn_tools_has_no_words_for_is_refused(spoil, words):
    net = Net("n")
    spoil(net, net.place("p", initial=[()]))
    with pytest.raises(InputError, match=words):
        cpn_write.write(net)


WRONG = [
    ("<workspaceElements>", "<workspaceElement>", "is no XML"),
    ("</cpnet>", "</cpnet><cpnet/>", "must hold exactly one cpnet"),
    ("<string/>", "<subset><id>NO</id></subset>", "says `by` a function or `with` a list"),
    ("<string/>", "<list><id>PACKET</id></list>", "PACKET'?: is no colour set"),
    ("<string/>", "<list/>", "is no colour set"),
    ("<string/>", "<list><id>NO</id></list>", "field 2 = 'text': does not fit colour set PACKET"),
    ("<string/>", "<union/>", "'union': has no parts"),
    ("<string/>", "<vector/>", "'vector': is no kind of colour set that is read"),
    ("<string/>", "", "has no name or no kind of colour set"),
    ("<id>NO</id><id>DATA</id>", "<id>NO</id><id>DATE</id>", "DATE'?: is no colour set"),
    ("<type><id>DATA</id></type>", "<type><id>DATE</id></type>", "var d = 'DATE'"),
    ("val wait = 5;", "fun wait x = 5;", "the function wait': stands where a delay is expected"),
    ("val wait = 5;", "val wait = true;", "'bool': stands where a delay is expected"),
    ("val wait = 5;", "val wait = ref 5;", "references are not read; keep what changes in a token"),
    (">PACKET</text></type>\n  <init", ">PACKAGE</text></type>\n  <init", "place send, type"),
    ('1`(1,"COL")', '1`(1,"COL",2)', "does not fit colour set PACKET"),
    ('1`(1,"COL")', '1`("COL",1)', "field 1 = 'text': does not fit colour set PACKET"),
    ('1`(1,"COL")', "1`(1", "initial marking"),
    ('1`(1,"COL")', '9999999`(1,"COL")', "a count is a number"),
    ('++1`(2,"OUR")', "++1`(2,x)", "'x': is not declared"),
    ('++1`(2,"OUR")', "@~7", "and so is its time"),
    ("[n = m, n &gt; 0]", "[n = k, n &gt; 0]", "k'?: is bound by no input arc"),
    ("[n = m, n &gt; 0]", "[n = m, n &gt;]", "transition transmit, guard"),
    ("[n = m, n &gt; 0]", "[List.all f xs]", "transition transmit, guard"),
    ("[n = m, n &gt; 0]", "[n = m, f(n)]", "is no function that is read"),
    ("[n = m, n &gt; 0]", "[n + m]", "a guard is a bool"),
    ("[n = m, n &gt; 0]", "[" + "(" * 200 + "n" + ")" * 200 + "]", "nested too deeply"),
    ("[n = m, n &gt; 0]", "[" + "not " * 400 + "true]", "nested too deeply"),
    ("[n = m, n &gt; 0]", "[" + "n + " * 400 + "n = n]", "or too long"),
    ("@+wait", "wait", "is read as @\\+delay"),
    ("@+wait", "@wait", "is read as @\\+delay"),
    ("@+wait", "@+later", "is bound by no input arc"),
    ("@+wait", "@+lognormal(1.0,2.0)", "use discrete, bernoulli, exponential, normal or uniform"),
    ("@+wait", "@+exponential(1.0,2.0)", "takes 1 arguments"),
    (">(n,d)<", ">(n+d,d)<", "takes two numbers, not int and text"),
    (">(n,d)<", ">(n,d)@+1<", "delays on input arcs"),
    (">(n,d)<", ">n<", r"of colour set NO, int, and cannot be \(int, text\) here"),
    ("(n,d)@+3", "(n,e)", "is bound by no input arc"),
    ("(n,d)@+3", "a", "variable a = 'ANSWER': is bound by no input arc .* too many values"),
    ("(n,d)@+3", "n", "'int': does not fit colour set PACKET, which is"),
    ("(n,d)@+3", "let val x = 1 in (d,x) end", "field 1 = 'text': does not fit"),
    ("#n a + 1", "#z a + 1", "'#z': is no field of {n: int, k: KIND}"),
    ("#n a + 1", "#n d + 1", "variable d = 'DATA': is bound by no input arc"),
    ("1`{k=ack,n=n}", "1`{k=ack}", "'{k: KIND}': does not fit colour set ANSWER"),
    ("1`{k=ack,n=n}", "1`{k=yes,n=n}", "is bound by no input arc"),
    ("1`{k=ack,n=n}", "5000`{k=ack,n=n}", "at most 1000 tokens"),
    ('subpage="sub"', 'subpage="sob"', "is no page of the net"),
    ('subpage="sub"', 'subpage="top"', "cannot contain itself"),
    ("(q1,p4)", "(q9,p4)", "names no port and socket"),
    ("P_HIGH", "P_URGENT", "priority"),
    ('<trans id="x3">', '<trans id="x1">', "needs an id that no other node has"),
    ('<placeend idref="p4"/>', '<placeend idref="q1"/>', "is no node of the page"),
    ('orientation="TtoP"', 'orientation="Sideways"', "the orientation is one of"),
    (
        "<text>acknowledge</text>",
        "<text>acknowledge</text><code><text>input (n); action (OS.Process.exit n);</text></code>",
        "'OS.Process.exit': has side effects",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=range(len(WRONG)))
def test_malformed_files_name_the_inscription(old, new, words):
    assert old in GOOD
    with pytest.raises(InputError, match=words) as caught:
        engine.check(read_cpn(GOOD.replace(old, new, 1)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", range(200))
def test_damaged_files_never_do_more_than_give_one_line(seed):
    """A damaged file is either read or refused with a one-line error message. A damaged file never
    crashes the reader. The test deletes, doubles and swaps bytes of a file."""
    chance = random.Random(seed)
    text = GOOD
    # Most damage inserts text into inscriptions, so that the XML stays valid.
    for _ in range(chance.randint(1, 3)):
        if chance.random() < 0.7:
            ends = [at for at in range(len(text)) if text.startswith("</text>", at)]
            at = chance.choice(ends) if ends else 0
            junk = chance.choice(
                [
                    "(",
                    ")",
                    "`",
                    "++",
                    "~",
                    "#",
                    "@+",
                    ",",
                    "1",
                    "n",
                    " andalso",
                    "if",
                    '"',
                    "[",
                    "empty",
                    "''",
                    "9" * 30,
                    "é",
                ]
            )
            text = text[:at] + junk + text[at:]
            continue
        cuts = sorted(chance.randrange(len(text)) for _ in range(2))
        before, middle, after = (text[a:b] for a, b in pairwise([0, *cuts, len(text)]))
        text = chance.choice([before + after, before + middle[:40] * 2 + after, before + "\x00&<"])
    line = refusal(text)
    assert "\n" not in line, f"seed {seed}"
    assert len(line) < 900, f"seed {seed}"


def refusal(text: str) -> str:
    """Returns the reason why a file is refused, or an empty text if it is read."""
    try:
        engine.check(read_cpn(text))
    except InputError as error:
        return str(error)
    return ""


QUEUE = """<workspaceElements><cpnet><globbox>
  <color id="c1"><id>NO</id><int/></color>
  <color id="c2"><id>QUEUE</id><list><id>NO</id></list></color>
  <var id="v1"><type><id>NO</id></type><id>n</id></var>
  <var id="v2"><type><id>QUEUE</id></type><id>q</id></var>
</globbox><page id="page"><pageattr name="top"/>
  <place id="p1"><text>queue</text><type><text>QUEUE</text></type>
    <initmark><text>1`[1,2,3]</text></initmark></place>
  <place id="p2"><text>done</text><type><text>NO</text></type></place>
  <trans id="t1"><text>serve</text><cond><text>[n &gt; 0, not (mem q n)]</text></cond></trans>
  <arc id="a1" orientation="PtoT"><transend idref="t1"/><placeend idref="p1"/>
    <annot><text>n::q</text></annot></arc>
  <arc id="a2" orientation="TtoP"><transend idref="t1"/><placeend idref="p1"/>
    <annot><text>q^^[0 - n]</text></annot></arc>
  <arc id="a3" orientation="TtoP"><transend idref="t1"/><placeend idref="p2"/>
    <annot><text>n + length q</text></annot></arc>
</page></cpnet></workspaceElements>"""


def test_a_queue_as_a_list_is_taken_apart_as_drawn():
    game = engine.Game(read_cpn(QUEUE))
    while game.enabled():
        game.step()
    # The net repeatedly moves the first number of a list to the end of the list and inverts its
    # sign. The net stops when the first number is not positive. The list begins as 1, 2, 3.
    assert game.state.marking == {"queue": [[[-1, -2, -3]]], "done": [[3], [4], [5]]}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("n::q<", "[n]^^q<", "variable n = 'NO': is bound by no input arc"),
        ("n::q<", "n::n<", "compares int with a list of int"),
        ("n::q<", "(n+1)::q<", "variable n = 'NO': is bound by no input arc"),
        ("n::q<", "[n,q]<", "'q': is of colour set QUEUE, a list of int, and cannot be int"),
        ("1`[1,2,3]", "1`[1,true]", "a list holds one type, not int and bool"),
        ("1`[1,2,3]", "1`[1,2", "is expected before"),
        ("1`[1,2,3]", "1`3", "'int': does not fit colour set QUEUE"),
        ("q^^[0 - n]", "q^^[0.5]", "joins lists of one type, not a list of int and a list of real"),
        ("q^^[0 - n]", "n^^[0]", "'int': '^^' takes a list here".replace("^", r"\^")),
        ("q^^[0 - n]", "hd q", "'int': does not fit colour set QUEUE, which is a list of int"),
        ("n + length q", "n + q", "takes two numbers, not int and a list of int"),
        ("n + length q", "n + length", r"'the function length': is no operand of '\+'"),
        ("mem q n", "mem q", "'the function mem': stands where a truth value is expected"),
        ("mem q n", "foldl f n q", "'f': is bound by no input arc, nor is it declared"),
    ],
)
def test_lists_that_do_not_fit_name_the_inscription(old, new, words):
    assert old in QUEUE
    with pytest.raises(InputError, match=words) as caught:
        engine.check(read_cpn(QUEUE.replace(old, new, 1)))
    assert "\n" not in str(caught.value)


PACKETS = """<workspaceElements><cpnet><globbox>
  <color id="c1"><id>NO</id><int/></color>
  <color id="c3"><id>TEXT</id><string/></color>
  <color id="c4"><id>PACKET</id><product><id>NO</id><id>TEXT</id></product></color>
  <color id="c5"><id>PACKETS</id><list><id>PACKET</id></list></color>
  <color id="c6"><id>SENT</id><record><recordfield><id>no</id><id>NO</id></recordfield>
    <recordfield><id>left</id><id>PACKETS</id></recordfield></record></color>
  <var id="v1"><type><id>NO</id></type><id>n</id></var>
  <var id="v2"><type><id>TEXT</id></type><id>s</id></var>
  <var id="v3"><type><id>PACKETS</id></type><id>q</id></var>
  <var id="v4"><type><id>PACKET</id></type><id>p</id></var>
</globbox><page id="page"><pageattr name="top"/>
  <place id="p1"><text>queue</text><type><text>PACKETS</text></type>
    <initmark><text>1`[(1,"a"),(2,"b"),(5,"a")]</text></initmark></place>
  <place id="p2"><text>sent</text><type><text>SENT</text></type></place>
  <place id="p3"><text>lost</text><type><text>PACKET</text></type></place>
  <trans id="t1"><text>send</text><cond><text>[n &lt; 3]</text></cond></trans>
  <arc id="a1" orientation="PtoT"><transend idref="t1"/><placeend idref="p1"/>
    <annot><text>(n,s)::q</text></annot></arc>
  <arc id="a2" orientation="TtoP"><transend idref="t1"/><placeend idref="p1"/>
    <annot><text>q^^[(n + 10, s)]</text></annot></arc>
  <arc id="a3" orientation="TtoP"><transend idref="t1"/><placeend idref="p2"/>
    <annot><text>{no=n, left=(0,"z")::q}</text></annot></arc>
  <trans id="t2"><text>lose</text><cond><text>[#1 p = 5]</text></cond></trans>
  <arc id="a4" orientation="PtoT"><transend idref="t2"/><placeend idref="p1"/>
    <annot><text>p::q</text></annot></arc>
  <arc id="a5" orientation="TtoP"><transend idref="t2"/><placeend idref="p3"/>
    <annot><text>p</text></annot></arc>
  <arc id="a6" orientation="TtoP"><transend idref="t2"/><placeend idref="p3"/>
    <annot><text>(#1 (hd q), #2 p)</text></annot></arc>
</page></cpnet></workspaceElements>"""


def test_a_queue_of_packets_is_a_list_of_products():
    document = read_cpn(PACKETS)
    texts = {one.name: one for one in document.places}
    (first,) = texts["queue"].initial
    assert [number for number, _ in first[0]] == [1, 2, 5]

    def ends(net):
        game = engine.Game(net)
        while game.enabled():
            game.step()
        return game.state.marking

    a, b = (first[0][at][1] for at in (0, 1))
    found = ends(document)
    (z,) = {text for _, left in found["sent"] for number, text in left if number == 0}
    assert found == {
        "sent": [[1, [[0, z], [2, b], [5, a]]], [2, [[0, z], [5, a], [11, a]]]],
        "lost": [[5, a], [11, a]],
    }
    # A net that is written and read again ends in the same marking.
    again = ends(read_cpn(cpn_write.write(document)))
    assert again == found


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("q^^[(n + 10, s)]", "q^^[(n + 10, s, 1)]", "joins lists of one type"),
        ("q^^[(n + 10, s)]", "q^^[(s, n)]", "joins lists of one type"),
        ("(n,s)::q", "(n,s,n)::q", r"'\(int, text\)': does not fit the pattern of 3 parts"),
        ("[#1 p = 5]", "[p = (5, 5, 5)]", r"compares \(int, text\) with \(int, int, int\)"),
        ("[#1 p = 5]", "[#3 p = 5]", "'#3': is no field of"),
        ('(2,"b")', "2", r"a list holds one type, not \(int, text\) and int"),
        ("<list><id>PACKET</id>", "<list><id>PACKETS</id>", "is no colour set"),
    ],
)
def test_records_that_do_not_fit_name_the_inscription(old, new, words):
    assert old in PACKETS
    with pytest.raises(InputError, match=words) as caught:
        engine.check(read_cpn(PACKETS.replace(old, new, 1)))
    assert "\n" not in str(caught.value)


def test_precedence_is_that_of_ml():
    assert parse("1+2*3", "t") == parse("1+(2*3)", "t")
    assert parse("a=1 andalso b=2 orelse c", "t") == parse("((a=1) andalso (b=2)) orelse c", "t")
    assert parse("a::b^^c = d", "t") == parse("(a::(b^^c)) = d", "t")
    assert parse("length q + 1", "t") == parse("(length q) + 1", "t")
    assert parse("2`x++y", "t").kind == "sum"
    assert len(conjuncts("[a, b andalso c]", "t")) == 2


def test_the_evaluator_of_one_text_leaves_that_of_another_unchanged():
    outer = Declarations(ET.Element("cpnet")).evaluator.reading("arc a", "is bound by no input arc")
    inner = outer.reading("arc b").hoisting(lambda value, context: value)
    for evaluator, expected in ((inner, "arc b.*is not declared"), (outer, "arc a.*is bound by")):
        with pytest.raises(InputError, match=expected):
            evaluator.value(parse("x", "text"), {})
    assert outer.hoist is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        inner.context = "arc c"  # type: ignore[misc]


def test_a_net_has_the_name_of_its_top_page_wherever_the_file_has_it():
    top, rest = GOOD.split('<page id="sub">')
    head, first = top.split('<page id="top">')
    page, tail = rest.split("</cpnet>")
    swapped = f'{head}<page id="sub">{page}<page id="top">{first}</cpnet>{tail}'
    assert read_cpn(GOOD).name == read_cpn(swapped).name == "Top"
