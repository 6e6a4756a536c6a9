"""Tests that two kinds of invalid values are refused with a one-line message: decorated numbers
(such as a number with a plus sign), and switches that are neither true nor false. The values are in
scenarios or on the command line."""

import pytest
import tomlkit
from dfslab.spec.changes.change_language import parse_change
from dfslab.spec.design import LevelValue
from dfslab.spec.files import inputs
from dfslab.spec.files.plain_number import PLAIN, is_odd_number, is_plain_number
from dfslab.spec.input_error import InputError
from dfslab.spec.model import CheckedModel, build
from dfslab.spec.scenario import Scenario
from dfslab.spec.units import FACTORS, parse
from support import synthetic
from support.command import dfslab

ODD = ["+3", "+0.5", "1_0", " 3", "3 ", "\u0663", "nan", "inf"]
OTHER_SWITCHES = [0, 1, 1.0, "0", "1", "yes", "no", "on", "off", "Y", "t"]
SWITCH = "must be true or false"
FILE = """schema = 1
name = "plus"  # = +3
[file_system]
name = "local"
access = { directory = "/tmp" }
[[deployment.node]]
roles = { client = 1, storage = 1 }
[workload]
name = "sequential_write"
%s
"""


class Example(CheckedModel):
    """A model with an integer, a real number, an optional integer, a dictionary and a list of
    numbers."""

    whole: int = 1
    real: float = 1.0
    perhaps: int | None = None
    by_name: dict[str, int] = {}
    several: list[float] = []
    switch: bool = False
    any_value: LevelValue = 1
    text: str = ""


@pytest.mark.parametrize("text", ["3", "-0.5", "1e6", "1e+16", ".5", "3."])
def test_plain_numbers(text):
    assert is_plain_number(text)
    assert not is_odd_number(text)


@pytest.mark.parametrize("text", ["", "x", "3 KiB", "on", "--3"])
def test_texts_that_are_no_numbers_are_left_to_others(text):
    assert not is_plain_number(text)
    assert not is_odd_number(text)


@pytest.mark.parametrize("field", ["whole", "real", "perhaps"])
@pytest.mark.parametrize("text", ODD)
def test_an_odd_number_is_refused_in_each_kind_of_field(field, text):
    with pytest.raises(InputError, match="must be a number in plain digits") as failed:
        build(Example, {field: text})
    assert failed.value.key == field
    with pytest.raises(InputError, match="must be a number in plain digits"):
        build(Example, {"by_name": {"one": text}})
    with pytest.raises(InputError, match="must be a number in plain digits"):
        build(Example, {"several": [1.0, text]})


@pytest.mark.parametrize("value", OTHER_SWITCHES)
def test_a_switch_is_true_or_false(value):
    with pytest.raises(InputError, match=SWITCH):
        build(Example, {"switch": value})
    assert build(Example, {"switch": True}).switch


def test_texts_and_free_values_may_look_like_numbers():
    made = build(Example, {"text": "+3", "any_value": "+3", "whole": "3"})
    assert (made.text, made.any_value, made.whole) == ("+3", "+3", 3)


@pytest.mark.parametrize("unit", FACTORS)
def test_a_quantity_has_no_plus(unit):
    name = next(iter(FACTORS[unit]))
    with pytest.raises(ValueError, match=r'must have no "\+"'):
        parse(f"+3 {name}", unit)


@pytest.mark.parametrize("value", OTHER_SWITCHES)
def test_fsync_is_true_false_or_write(value):
    table = synthetic.scenario().model_dump(mode="json", exclude={"sweep", "judge"})
    table["workload"]["fsync"] = value
    with pytest.raises(InputError, match="must be") as failed:
        build(Scenario, table)
    assert failed.value.key == "workload.fsync"


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("clients = +3", "clients", "+3"),
        ("think_time = '1 s' \nclients=+3", "clients", "+3"),
        ("mix = { read = 1, write = +0.5 }", "write", "+0.5"),
        ("x = [1, +2]", "x", "+2"),
    ],
)
def test_a_scenario_file_with_a_plus_names_line_key_and_value(tmp_path, line, key, value):
    path = tmp_path / "s.toml"
    path.write_text(FILE % line)
    answer = dfslab("predict", path, "--method", "sequence")
    number = len((FILE % line).rstrip().split("\n"))
    expected = f"dfslab: {path}: {key} = '{value}': must be a number without \"+\" (line {number})"
    assert (answer.returncode, answer.stderr.strip()) == (2, expected)


def test_a_plus_in_texts_comments_and_dates_is_no_number(tmp_path):
    path = tmp_path / "t.toml"
    text = 'a = \'+1\'\nb = """\n= +2 \\"\n""" # = +3\nc = 1e+3\nd = 2026-01-01T00:00:00+01:00\n'
    path.write_text(text)
    assert inputs.table("FILE", path) == tomlkit.parse(text).unwrap()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--set", "workload.clients=+3"), "workload.clients = '+3': " + PLAIN),
        (("--set", "workload.clients=1_0"), "workload.clients = '1_0': " + PLAIN),
        (("--set", "workload.fsync=1"), f"workload.fsync = 1: {SWITCH}"),
        (("--set", "workload.mmap=yes"), f"workload.mmap = 'yes': {SWITCH}"),
    ],
)
def test_keys_on_the_command_line_are_refused_in_the_same_words(tmp_path, words, named):
    path = tmp_path / "s.toml"
    path.write_text(FILE % "")
    answer = dfslab("predict", path, "--method", "sequence", *words)
    assert answer.returncode == 2
    assert named in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", ["+3", "1_0", " 3"])
def test_options_that_are_numbers_are_refused(tmp_path, text):
    answer = dfslab("check", tmp_path, "--pairs", text)
    assert (answer.returncode, answer.stderr) == (2, f"dfslab: --pairs = {text!r}: {PLAIN}\n")


def test_a_change_without_sign_is_a_plain_number():
    scenario = synthetic.scenario()
    for text in ("clients nan", "clients inf"):
        with pytest.raises(InputError):
            parse_change(text, scenario)
