"""Tests of nets that are built in Python: their pages, ports, fusion places, colours and drawings,
and the confidence intervals of simulated values."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET

import pytest
from dfslab.documents.net_run import CountMonitor, LogMonitor
from dfslab.documents.nets.named_net_report import NetReport
from dfslab.method import RunFailed
from dfslab.nets import draw
from dfslab.nets.build import Net, Page, Put, Take
from dfslab.nets.engine import Game, check, estimate, replicate, run, state_space
from dfslab.spec.input_error import InputError


def tandem(stations: int) -> Net:
    """Returns a Petri net in which jobs pass `stations` stations one after the other. A station is
    a queue with one server. Each station is a separate copy of the page `station`."""
    net = Net("tandem")
    job = net.colour("job", id=int)
    station = Page("station")
    arrive, leave = station.port("in", job), station.port("out", job)
    idle = station.place("idle", initial=[()])
    busy = station.place("busy", job)
    station.transition("start", [Take(arrive, "j"), idle], [Put(busy, "j", delay=2.0)])
    station.transition("end", [Take(busy, "j")], [Put(leave, "j"), idle])
    spots = [net.place("q0", job, [1, 2, 3])]
    for at in range(stations):
        spots.append(net.place(f"q{at + 1}", job))
        net.substitute(f"s{at}", station, {"in": spots[at], "out": spots[at + 1]})
    return net


def test_a_page_is_copied_for_every_substitution():
    net = tandem(3)
    definition = net.document()
    names = [one.name for one in definition.places]
    assert names == [
        "q0",
        "q1",
        "q2",
        "q3",
        "s0.idle",
        "s0.busy",
        "s1.idle",
        "s1.busy",
        "s2.idle",
        "s2.busy",
    ]
    assert [one.page for one in definition.transitions] == ["s0", "s0", "s1", "s1", "s2", "s2"]
    (report,) = run(net, {"ends": CountMonitor(transition="s2.end")})
    # Three jobs pass three stations in a row, and each station takes 2 s for a job. The last job
    # ends after (3 + 3 - 1) x 2 s.
    assert report.end_time_ns == 10_000_000_000
    assert report.counts["ends"].count == 3


def test_pages_within_pages():
    net, outer, inner = Net("deep"), Page("outer"), Page("inner")
    near, far = inner.port("from"), inner.port("to")
    inner.transition("go", [near], [far])
    a, b = outer.port("from"), outer.port("to")
    middle = outer.place("middle")
    outer.substitute("first", inner, {"from": a, "to": middle})
    outer.substitute("second", inner, {"from": middle, "to": b})
    start, end = net.place("start", initial=[()]), net.place("end")
    net.substitute("box", outer, {"from": start, "to": end})
    names = [one.name for one in net.document().transitions]
    assert names == ["box.first.go", "box.second.go"]
    assert state_space(net).markings == 3


def test_fusion_makes_one_place_of_several():
    net, half = Net("fused"), Page("half")
    source, sink = half.place("source", initial=[(), ()]), half.place("sink")
    half.transition("move", [source], [sink])
    other = net.place("pool", initial=[()])
    net.transition("drain", [other], [])
    net.substitute("copy", half, {})
    net.fuse("shared", sink, other)
    assert [one.name for one in net.document().places] == ["shared", "copy.source"]
    report = state_space(net)
    assert report.bounds["shared"] == (0, 3)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda net, page, place: net.substitute("x", page, {}), "page sub has the ports in"),
        (
            lambda net, page, place: net.substitute("x", page, {"in": Net("o").place("far")}),
            "is no place of this page",
        ),
        (
            lambda net, page, place: net.substitute(
                "x", page, {"in": net.place("c", net.colour("c", n=int))}
            ),
            "the port's colour is",
        ),
        (lambda net, page, place: net.place("here"), "is defined twice"),
        (lambda net, page, place: net.colour("unit"), "is declared twice"),
        (lambda net, page, place: net.enum("e", "a") and net.enum("e", "b"), "declared twice"),
        (lambda net, page, place: net.colour("d", n=complex), "a type is int, float, bool"),
        (lambda net, page, place: net.colour("d", n=[int, int]), "a list holds one type"),
        (lambda net, page, place: net.colour("d", n=[[int]]), "a list holds one type"),
        (lambda net, page, place: net.transition("t", [Take(place, count=0)]), "at least one"),
        (lambda net, page, place: net.transition("t", [Take(place, "v", 2)]), "one token"),
        (lambda net, page, place: net.transition("t", [Net("o").place("far")]), "no place of"),
        (
            lambda net, page, place: (
                page.substitute("y", page, {"in": page.ports[0]})
                or net.substitute("x", page, {"in": place})
            ),
            "cannot contain itself",
        ),
        (
            lambda net, page, place: net.fuse("f", place, net.place("n", net.colour("c", n=int))),
            "needs one colour",
        ),
        (lambda net, page, place: net.place("e", net.colour("c", n=int), [{"m": 1}]), "fields are"),
    ],
)
def test_wrong_buildings_give_one_line(spoil, words):
    net, page = Net("wrong"), Page("sub")
    place = net.place("here")
    page.port("in")

    def build() -> None:
        spoil(net, page, place)
        net.document()

    with pytest.raises(InputError) as caught:
        build()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_queue_of_lists_is_fired_and_explored():
    net = Net("lists")
    hue = net.enum("hue", "red", "blue")
    queue = net.colour("queue", ids=[int])
    visited = net.colour("visited", id=int, hues=[hue], left=[int])
    waiting, done = net.place("waiting", queue, [[3, 1, 3]]), net.place("done", visited)
    net.transition(
        "serve",
        [Take(waiting, "q")],
        [
            Put(waiting, ["tail(q.ids)"]),
            Put(
                done,
                ["head(q.ids)", "if(contains(tail(q.ids), 3), [hue.red], [])", "reverse(q.ids)"],
            ),
        ],
        guard="length(q.ids) > 0",
        delay=1,
    )
    (report,) = run(net)
    assert (report.end_time_ns, report.firings) == (3_000_000_000, 3)
    game = Game(net)
    while game.enabled():
        game.step()
    assert game.state.marking == {
        "waiting": [[[]]],
        "done": [[3, ["red"], [3, 1, 3]], [1, ["red"], [3, 1]], [3, [], [3]]],
    }
    # Two markings are equal if their lists have equal elements. There are four markings: [3, 1, 3],
    # two shorter lists, and []. The three arcs lead from each list to the next shorter list.
    found = state_space(net)
    assert (found.markings, found.arcs) == (4, 3)
    assert "reverse(q.ids)" in draw.mermaid(net, game.state.marking)


def dispatcher() -> Net:
    """Returns a net with a server and a list of records, the jobs. The server takes the first job
    of the list. A long job returns to the list after its service."""
    net = Net("dispatcher")
    kind = net.enum("kind", "read", "write")
    job = net.colour("job", id=int, size=float, kind=kind)
    line = net.colour("line", jobs=[job])
    new = net.place("new", job, [(1, 2.0, "read"), (2, 1.0, "write")])
    queue, done = net.place("queue", line, [[(7, 1.5, "read")]]), net.place("done", job)
    takes = [Take(queue, "q")]
    net.transition(
        "join",
        [Take(new, "j"), *takes],
        [Put(queue, ["append(q.jobs, j)"])],
        guard="!contains(q.jobs, j)",
        priority=1,
    )
    net.transition(
        "serve",
        takes,
        [Put(queue, ["tail(q.jobs)"], "head(q.jobs).size"), Put(done, "head(q.jobs)")],
        guard="q.jobs != [] && head(q.jobs).size < 2",
    )
    net.transition(
        "slice",
        takes,
        [Put(queue, ["append(tail(q.jobs), job(head(q.jobs).id, head(q.jobs).size - 1, write))"])],
        guard="q.jobs != [] && head(q.jobs).size >= 2",
    )
    return net


def test_a_queue_of_records_is_fired_and_explored():
    net = dispatcher()
    (report,) = run(net)
    assert (report.end_time_ns, report.firings) == (3_500_000_000, 6)
    game = Game(net)
    while game.enabled():
        game.step()
    assert game.state.marking == {
        "queue": [[[]]],
        "done": [[7, 1.5, "read"], [2, 1.0, "write"], [1, 1.0, "write"]],
    }
    found = state_space(net)
    # The jobs may join the list in any order, so there are many markings.
    assert found.markings > 10
    assert found.bounds["done"] == (0, 3)
    assert "job(head(q.jobs).id" in draw.mermaid(net, game.state.marking)


def test_lists_that_are_dropped_make_room():
    """The memory of a list is freed when no token has the list any more. In this test, every firing
    rotates a list, which creates a new list. Memory must not grow with the number of firings."""
    net = Net("ring")
    ring = net.place("ring", net.colour("ring", ids=[int], turn=int), [([1, 2, 3], 0)])
    net.transition(
        "turn",
        [Take(ring, "r")],
        [Put(ring, ["append(tail(r.ids), r.turn)", "r.turn + 1"])],
        delay=1,
    )
    log = LogMonitor(
        transition="turn", when="r.turn % 50000 == 3", fields=["at(r.ids, 0)", "at(r.ids, 2)"]
    )
    (report,) = run(net, {"order": log}, max_firings=150_000)
    rows = [values for _, values in report.logs["order"].rows]
    assert rows == [[0, 2], [50_000, 50_002], [100_000, 100_002]]


def test_enumerations_and_records_within_records():
    net = Net("typed")
    kind = net.enum("kind", "read", "write")
    size = net.colour("size", first=int, last=int)
    request = net.colour("request", kind=kind, span=size)
    assert request.fields == (("kind", "kind"), ("span_first", "int"), ("span_last", "int"))
    todo = net.place("todo", request, [("read", 0, 3), ("write", 4, 9)])
    done = net.place("done", request)
    net.transition(
        "flip",
        [Take(todo, "r")],
        [Put(done, ["write", "r.span_first", "r.span_last"])],
        guard="r.kind == read",
    )
    game = Game(net)
    assert game.enabled()[0].binding == {"r": ["read", 0, 3]}
    assert game.step().marking == {"todo": [["write", 4, 9]], "done": [["write", 0, 3]]}
    net.watch("flips", LogMonitor(transition="flip", fields=["r.kind"]))
    assert run(net)[0].logs["flips"].rows == [(0, ["read"])]
    with pytest.raises(InputError, match="monitor flips: is declared twice"):
        net.watch("flips", CountMonitor(transition="flip"))


@pytest.mark.parametrize(
    ("guard", "words"),
    [
        ("r.kind == 1", "takes two numbers, not an enumeration and int"),
        ("r.kind == erase", "unknown constant 'erase'"),
        ("r.kind == kind.erase", "'kind' has no value 'erase' (known: both, read, write)"),
        ("r.kind < read", "'<' takes two numbers"),
        ("r.kind == blue", "takes two numbers, not an enumeration and an enumeration"),
        ("r.kind == both", "a value of several enumerations"),
        ("abs(r.kind) == 1", "abs() takes numbers, not an enumeration"),
        ("empirical(t) > 1", "draws at random, which is not allowed here"),
    ],
)
def test_enumerations_are_typed(guard, words):
    net = Net("typed")
    kind = net.enum("kind", "read", "write", "both")
    net.enum("hue", "blue", "both")
    net.table("t", [0, 1], [1])
    todo = net.place("todo", net.colour("request", kind=kind), ["read"])
    net.transition("go", [Take(todo, "r")], guard=guard)
    with pytest.raises(InputError) as caught:
        check(net)
    assert "page main, transition go, guard" in str(caught.value)
    assert words in str(caught.value)


def test_pictures_show_the_marking_and_every_arc():
    net = tandem(1)
    net.transition("look", [net.places[1]], inhibit=[net.places[0]], reset=[net.places[1]])
    text = draw.mermaid(net)
    assert '"q0<br>●●●"' in text
    assert text.count("-->") == 7
    assert text.count("--o") == 1
    assert text.count("==>") == 1
    root = ET.fromstring(draw.svg(net, {"q1": [[i] for i in range(9)]}))
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "● 9" in texts
    assert "s0.start @+2.0" not in texts
    assert "look" in draw.mermaid(net, page="main")
    assert "s0.start" not in draw.mermaid(net, page="main")
    with pytest.raises(InputError, match="known: s0, main|known: main, s0"):
        draw.svg(net, page="other")
    assert "<svg" in Game(net)._repr_html_()


def test_intervals_cover_as_often_as_they_say():
    """Of 400 intervals with a confidence of 90 %, about 360 contain the known mean. The test allows
    a deviation of 4 standard errors from 360."""
    chance = random.Random(3)
    held = 0
    for _ in range(400):
        found = estimate([chance.gauss(5, 2) for _ in range(6)], 0.9)
        held += abs(found.mean - 5) <= found.half_width
    assert abs(held - 360) <= 4 * (400 * 0.9 * 0.1) ** 0.5


def test_replications_until_the_interval_is_narrow():
    net = Net("mm1")
    source, queue, idle = net.place("source", initial=[()]), net.place("queue"), net.place("idle")
    idle.initial = [()]
    net.transition("arrive", [source], [Put(source, delay="exponential(2)"), queue])
    net.transition("serve", [queue, idle], [Put(idle, delay="exponential(1)")])
    monitors = {"served": CountMonitor(transition="serve")}

    def rate_per_s(report: NetReport) -> float:
        return report.counts["served"].rate_per_s

    found = replicate(net, monitors, rate_per_s, relative_width=0.02, end_time_s=500.0)
    assert found.relative <= 0.02
    assert found.count > 8
    assert abs(found.mean - 0.5) <= 3 * found.half_width
    with pytest.raises(RunFailed, match="not yet within"):
        replicate(net, monitors, rate_per_s, relative_width=1e-5, at_most=16, end_time_s=500.0)
