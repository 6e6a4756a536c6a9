"""Tests of the graph of the strongly connected components of a state space, and of its pictures."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest
from dfslab.nets import files, scc_graph
from dfslab.nets.build import Net, Put, Take
from dfslab.nets.engine import state_space
from dfslab.spec.input_error import InputError
from dfslab.web import state_spaces

from tests.support.command import dfslab


def gate(ways: int) -> Net:
    """Returns a net with one token. The token first moves between two places. Then one of `ways`
    transitions moves it to a last place. Each of these transitions has a separate last place, in
    which another transition returns the token to the same place."""
    net = Net("gate")
    here, there = net.place("here", initial=[()]), net.place("there")
    net.transition("go", [Take(here)], [Put(there)])
    net.transition("return", [Take(there)], [Put(here)])
    for way in range(ways):
        out = net.place(f"out {way}")
        net.transition(f"leave {way}", [Take(here)], [Put(out)])
        net.transition(f"turn {way}", [Take(out)], [Put(out)])
    return net


def test_components_are_those_of_the_net():
    graph = state_space(gate(1)).scc_graph
    first, last = graph.nodes
    assert (first.markings, first.firings) == (2, 2)
    assert [first.terminal, first.trivial, first.home] == [False] * 3
    assert first.first_marking == {"here": [[]]}
    # A transition leads from the marking to itself, so this component of one marking is not
    # trivial.
    assert (last.markings, last.firings, last.terminal, last.trivial) == (1, 1, True, False)
    assert last.home
    (arc,) = graph.arcs
    assert (arc.source, arc.target, arc.firings) == (0, 1, 1)
    assert arc.transitions == ["leave 0"]


def test_with_two_terminal_components_no_marking_is_home():
    space = state_space(gate(2))
    assert [one.terminal for one in space.scc_graph.nodes] == [False, True, True]
    assert not any(one.home for one in space.scc_graph.nodes)
    assert space.home_markings == 0


def line(count: int) -> Net:
    """Returns a net whose state space has no cycle. The state space consists of `count` + 1
    markings in a row. Each marking is a trivial strongly connected component."""
    net = Net("line")
    waiting, done = net.place("waiting", initial=[()] * count), net.place("done")
    net.transition("work", [Take(waiting)], [Put(done)])
    return net


def test_sizes_add_up_to_the_state_space():
    space = state_space(line(7))
    graph = space.scc_graph
    assert sum(one.markings for one in graph.nodes) == space.markings == 8
    inside = sum(one.firings for one in graph.nodes)
    assert inside + sum(one.firings for one in graph.arcs) == space.arcs == 7
    assert all(one.trivial for one in graph.nodes)
    assert [one.terminal for one in graph.nodes] == [False] * 7 + [True]


def test_the_picture_marks_what_components_are():
    picture = scc_graph.written(state_space(gate(2)), "svg")
    root = ET.fromstring(picture)
    titles = [one.text for one in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "0: 2 markings, initial" in titles
    assert "1: 1 marking, terminal" in titles
    assert "1 firing: leave 1" in titles
    boxes = [one for one in root.iter("{http://www.w3.org/2000/svg}rect") if one.get("rx")]
    # There are three components. Two of them are terminal and have a second border, so five boxes
    # are drawn.
    assert len(boxes) == 5
    assert [one.get("fill") for one in boxes].count(scc_graph.HOME) == 0
    home = scc_graph.written(state_space(line(1)), "svg")
    assert home.count(scc_graph.HOME) == 1
    assert home.count("stroke-dasharray") == 2


def test_a_component_is_to_the_right_of_those_before_it():
    graph = state_space(line(5)).scc_graph
    text = scc_graph.svg(graph)
    columns = [int(x) for x in re.findall(r'<rect x="(\d+)" y="\d+" width="120"', text)]
    assert len(columns) == 6
    assert columns == sorted(set(columns))


def test_the_text_for_graphviz_names_components_and_firings():
    text = scc_graph.written(state_space(gate(1)), "dot")
    assert 'c1 [label="1: 1 marking, terminal, home", style="filled"' in text
    assert 'c0 -> c1 [label="1 firing: leave 0"];' in text
    assert text.count("{") == text.count("}") == 1


@pytest.mark.parametrize(
    ("net", "limit", "form", "words"),
    [
        (line(300), 1000, "svg", "a picture has at most 200 components; the JSON form has 2,000"),
        (line(300), 100, "json", "the net has more markings"),
        (line(2500), 5000, "json", "more components than the 2,000"),
        (line(3), 1000, "png", "must be one of svg, dot, json"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(net, limit, form, words):
    with pytest.raises(InputError, match=re.escape(words)):
        scc_graph.written(state_space(net, limit), form)


def test_the_command_prints_one_document(tmp_path):
    path = tmp_path / "gate.json"
    path.write_text(files.written(gate(1).document(), "json"))
    done = dfslab("net", "states", str(path), "--as", "json")
    assert done.returncode == 0
    assert [one["markings"] for one in json.loads(done.stdout)["nodes"]] == [2, 1]


def test_the_web_application_says_and_draws_the_same(tmp_path):
    path = tmp_path / "gate.json"
    path.write_text(files.written(gate(2).document(), "json"))
    view = state_spaces.view(path)
    assert view.picture == scc_graph.written(state_space(gate(2)), "svg")
    assert "Markings: 4, with 6 firings between them." in view.facts
    path.write_text(files.written(line(300).document(), "json"))
    view = state_spaces.view(path)
    assert view.picture == ""
    assert "at most 200 components" in view.no_picture
    assert "--" not in view.no_picture, "a page has no options of the command line"
