"""Tests of the names that a net keeps from a `.cpn` file, in variables and in messages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dfslab.nets import engine
from dfslab.nets.cpn.cpn_read import read_file
from dfslab.spec.input_error import InputError
from support.nets import read_cpn

from tests.support.cpn_constructs import Row, document

PLAIN = Row("names", "n")


def variables(row: Row) -> list[str | None]:
    """Returns the names of the tokens that the transition of a row takes."""
    (serve,) = read_cpn(document(row)).transitions
    return [arc.var for arc in serve.in_]


@pytest.mark.parametrize(
    ("takes", "colour", "first", "names"),
    [
        ("n", "INT", "1`1", ["n"]),
        ("(n, hue)", "PAIR", "1`(1, red)", ["n_hue"]),
        ("(n, red)", "PAIR", "1`(1, red)", ["n"]),
        ("n::q", "INTS", "1`[1]", ["n_q"]),
        ("2`n", "INT", "2`1", ["n", "t2"]),
        ("1", "INT", "1`1", ["t1"]),
        ("n + 1", "INT", "1`1", ["t1"]),
    ],
)
def test_a_token_has_the_name_of_the_variables_in_the_file(takes, colour, first, names):
    guard = "[n = 0]" if "+" in takes else ""
    row = replace(PLAIN, takes=takes, colour=colour, first=first, puts="1", guard=guard)
    assert variables(row) == names


def test_a_name_that_means_something_else_is_not_taken():
    row = replace(
        PLAIN,
        takes="turn",
        extra={},
        colours="<var id='x'><type><id>INT</id></type><id>turn</id></var>",
        puts="turn",
    )
    assert variables(row) == ["t1"]


def test_rows_are_collected_by_the_names_of_the_file():
    file = read_file(
        document(replace(PLAIN, colour="PAIR", takes="(n, hue)", first="1`(1, red)++1`(2, blue)"))
    )
    own = file.variables["serve"]
    assert own == {"n": "n_hue.f1", "hue": "n_hue.f2"}
    (rows,) = engine.collect(file.net, "serve", own["n"])
    assert [value for _, value in rows] == [1, 2]
    (rows,) = engine.collect(read_cpn(document(PLAIN)), "serve", "n.value * 10")
    assert [value for _, value in rows] == [10, 20]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"colour": "", "takes": "()", "puts": "1"}, "waiting"),
        ({"colour": "", "takes": "n", "first": "1`()", "puts": "1"}, "waiting"),
        ({"made": "", "puts": "n"}, "served"),
    ],
)
def test_a_place_without_a_colour_set_is_named_as_such(change, place):
    with pytest.raises(InputError) as caught:
        read_cpn(document(replace(PLAIN, **change)))
    line = str(caught.value)
    wanted = f"place {place} of page Main has no colour set and is taken as UNIT: write its colour"
    assert wanted in line
    assert "\n" not in line


def test_a_place_with_a_colour_set_is_not_taken_for_one_without():
    with pytest.raises(InputError) as caught:
        read_cpn(document(replace(PLAIN, colour="UNIT", puts="1")))
    assert "taken as UNIT" not in str(caught.value)


def test_a_free_variable_in_a_delay_takes_each_value_of_its_colour_set():
    net = read_cpn(document(replace(PLAIN, time="@+k", first="60`1", puts="1")))
    ends = {report.end_time_ns for report in engine.run(net, replications=8)}
    assert ends == {3_000_000_000}
    (rows,) = engine.collect(net, "serve", "k.value")
    assert {value for _, value in rows} == {1, 2, 3}
