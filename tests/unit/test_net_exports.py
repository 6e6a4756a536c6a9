"""Tests of written nets: files keep to the grammars of their formats, and nothing is lost without a
line that says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab.documents.net_run import NetFile
from dfslab.nets import engine, files
from dfslab.nets.build import Local, Net, Put, Take
from dfslab.nets.cpn.cpn_read import read_file
from dfslab.nets.simulate import simulate
from support.net_grammars import cpn_faults, pnml_faults
from support.nets import read_cpn

from tests.support.command import dfslab
from tests.support.cpn_constructs import document
from tests.support.cpn_monitors import (
    ALWAYS,
    BREAKPOINT,
    BUSY,
    LIST,
    MARKING,
    OCCURRENCES,
    QUEUE,
    START,
    at_start,
    collector,
    monitor,
    queue_file,
)
from tests.support.cpn_rows import ROWS

READ = [row for row in ROWS if not row.refused]


@pytest.mark.parametrize("row", READ, ids=[row.construct for row in READ])
def test_a_written_construct_keeps_to_the_grammars(row):
    net = read_cpn(document(row))
    assert cpn_faults(files.written(net, "cpn")) == []
    assert pnml_faults(files.written(net, "pnml")) == []


def varied() -> Net:
    """Returns a net with every property that a format may lack."""
    net = Net("varied")
    job = net.colour("job", id=int)
    net.constant("limit", 5)
    jobs, done = net.place("jobs", job, [1, 2], "lifo"), net.place("done", job)
    net.place("later", job, [3], "random")
    net.transition(
        "work",
        [Take(jobs, "j")],
        [Put(done, ["j.id + v"], "exponential(1)")],
        guard="j.id < limit",
        delay="2",
        priority=3,
        locals=[Local("v", "int", "floor(uniform(0, 2))")],
    )
    net.transition("again", [Take(done, "j")], [Put(jobs, "j")], page="other")
    return net


def test_each_property_that_a_format_lacks_has_one_line():
    file = NetFile(net=varied().document())
    assert files.losses(file, "cpn") == [
        "cpn has no words for disciplines (lifo): 1 place, CPN Tools takes any token",
        "cpn has no words for the pages of a flat net: 2 pages, written as one page",
    ]
    kept = "written as tool-specific text, which other programs ignore"
    assert files.losses(file, "pnml") == [
        f"pnml has no words for {what}, {kept}"
        for what in (
            "values of tokens: 3 places",
            "disciplines: 2 places",
            "guards: 1 transition",
            "delays: 1 transition",
            "priorities: 1 transition",
            "values that a firing computes: 1 transition",
            "delays of arcs: 1 arc",
            "constants: 1 constant",
            "pages of a flat net: 2 pages",
        )
    ]
    assert files.losses(file, "json") == []
    assert files.losses(file, "svg") == []
    text = files.written(file.net, "pnml")
    assert pnml_faults(text) == []
    for kept in ("exponential(1)", "uniform(0, 2)", "limit", "lifo", "other"):
        assert kept in text


def test_weights_of_transitions_have_a_line_in_pnml():
    net = Net("n")
    net.transition("t", [net.place("p", initial=[()])], weight=2.0)
    (line,) = files.losses(NetFile(net=net.document()), "pnml")
    assert "unequal weights: 1 transition" in line


WITH_MONITORS = queue_file(
    monitor("busy", MARKING, (BUSY,)),
    monitor("starts", OCCURRENCES, (START,)),
    collector(
        "waiting",
        (START,),
        at_start("pred", "n mod 2 = 0", "false"),
        "fun obs (Main'start (1, {n, q, u})) = intTime () - n",
    ),
    monitor("stop", BREAKPOINT, (START,), {"Predicate": at_start("pred", "n > 60", "false")}),
    monitor("lengths", LIST, (QUEUE,)),
    collector("sizes", (START,), ALWAYS, "fun obs (bindelem) = Starts.last()"),
)


def test_monitors_are_written_and_measure_the_same():
    read = read_file(WITH_MONITORS)
    assert set(read.monitors.measured) == {"busy", "starts", "waiting", "lengths"}
    text = files.written(read.net, "cpn", monitors=read.monitors)
    assert cpn_faults(text) == []
    again = read_file(text)
    assert set(again.monitors.measured) == {"busy", "starts", "waiting"}
    assert set(again.monitors.breakpoints) == {"stop"}
    assert again.monitors.refused == {}
    found, wanted = (simulate(one.net, one.monitors, end_time_s=100.0) for one in (again, read))
    assert found.end_time_s.mean == wanted.end_time_s.mean == 63
    for name in ("busy", "starts", "waiting"):
        assert found.monitors[name].count == wanted.monitors[name].count
        assert found.monitors[name].mean == wanted.monitors[name].mean
    assert [line.split(": ")[0] for line in files.losses(read, "cpn")] == [
        "cpn has no words for monitors that keep a level",
        "cpn has no words for monitors that were refused",
    ]
    assert "monitors: 6 monitors, left out" in files.losses(read, "json")[0]


def test_show_prints_the_losses_to_the_other_stream(tmp_path: Path):
    path = tmp_path / "net.json"
    path.write_text(files.written(varied().document(), "json"))
    found = dfslab("net", "show", str(path), "--as", "pnml")
    assert found.returncode == 0
    assert "dfslab: warning: pnml has no words for guards: 1 transition, " in found.stderr
    assert pnml_faults(found.stdout) == []


def test_letters_outside_of_ascii_are_written_for_every_encoding():
    net = Net("n")
    net.transition("t", [net.place("Größe →", initial=[()])])
    text = files.written(net.document(), "cpn")
    assert text.isascii()
    assert [one.name for one in read_cpn(text).places] == ["Größe →"]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("<ellipse", "<circle", "has the children"),
        (' orientation="PtoT"', ' orientation="Up"', "orientation Up"),
        ('tool="dfslab" ', "", "lacks the attribute tool"),
        ("<pageattr", "<place/><pageattr", "has the children"),
    ],
)
def test_the_check_of_cpn_finds_faults(old, new, fault):
    net = Net("n")
    net.transition("t", [net.place("p", initial=[()])])
    text = files.written(net.document(), "cpn")
    assert old in text
    assert any(fault in one for one in cpn_faults(text.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('source="p0"', 'source="t0"', "joins"),
        ("<text>1</text>", "<text>-1</text>", "is no number"),
        ('id="t0"', 'id="p0"', "used twice"),
        ("grammar/ptnet", "grammar/other", "type"),
    ],
)
def test_the_check_of_pnml_finds_faults(old, new, fault):
    net = Net("n")
    net.transition("t", [net.place("p", initial=[()])])
    text = files.written(net.document(), "pnml")
    assert old in text
    assert any(fault in one for one in pnml_faults(text.replace(old, new)))
    assert engine.check(net).tokens == 1
