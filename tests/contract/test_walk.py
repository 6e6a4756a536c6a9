"""Tests of the functions that lead from a scenario to the page, and through the sequence model.
Each function has exactly the parameters, parameter types and return type that ARCHITECTURE.md lists
for the function."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINE = re.compile(
    r"^\d+\. `(?P<file>[\w/]+\.py):(?P<name>[\w.]+)\((?P<given>.*)\) -> (?P<gives>.*)`"
)


@dataclass(frozen=True)
class Step:
    """One function on the way from a scenario to the page, with the signature that ARCHITECTURE.md
    states for this function.

    `given` has the name and annotation of each parameter, in order, without `self`. `gives` is the
    annotation of the returned value.
    """

    file: str
    name: str
    given: tuple[tuple[str, str], ...]
    gives: str


def steps() -> list[Step]:
    found = []
    for line in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines():
        if match := LINE.match(line):
            written = f"def f({match['given']}) -> {match['gives']}: ..."
            (function,) = ast.parse(written).body
            assert isinstance(function, ast.FunctionDef)
            found.append(Step(match["file"], match["name"], *signature(function)))
    return found


def signature(function: ast.FunctionDef) -> tuple[tuple[tuple[str, str], ...], str]:
    """Returns the signature of a function: the name and annotation of each parameter in order,
    without `self`, and the annotation of the returned value. A missing annotation is "". The pair
    ("*", "*") comes before the keyword-only parameters."""
    arguments = function.args
    given = [_stated(one) for one in (*arguments.posonlyargs, *arguments.args) if one.arg != "self"]
    given += [] if arguments.vararg is None else [_stated(arguments.vararg)]
    given += [("*", "*")] if arguments.kwonlyargs else []
    given += [_stated(one) for one in arguments.kwonlyargs]
    given += [] if arguments.kwarg is None else [_stated(arguments.kwarg)]
    return tuple(given), _text(function.returns)


def _stated(parameter: ast.arg) -> tuple[str, str]:
    return parameter.arg, _text(parameter.annotation)


def _text(annotation: ast.expr | None) -> str:
    return "" if annotation is None else ast.unparse(annotation)


def declared(step: Step) -> tuple[tuple[tuple[str, str], ...], str]:
    """Returns the signature that the source declares for the function of `step`."""
    body = ast.parse((ROOT / "python" / "dfslab" / step.file).read_text(encoding="utf-8")).body
    *classes, name = step.name.split(".")
    for outer in classes:
        body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == outer).body
    return signature(next(n for n in body if isinstance(n, ast.FunctionDef) and n.name == name))


def test_there_is_a_walk_to_the_page_and_one_through_a_model():
    names = [step.name for step in steps()]
    assert len(names) == 16 + 8
    assert names[0] == "run"
    assert names[15:17] == ["render", "SequenceModel.run"]


@pytest.mark.parametrize("step", steps(), ids=lambda step: f"{step.file}:{step.name}")
def test_a_step_of_the_walk_is_a_function_of_exactly_that_signature(step):
    assert declared(step) == (step.given, step.gives)
    for kind in (*(annotation for _, annotation in step.given), step.gives):
        assert kind
        assert not re.search(r"\b(?:dict|Any|object)\b", kind), kind


@pytest.mark.parametrize(
    "changed",
    [
        "def f(self, scenario: Scenario) -> Plan: ...",
        "def f(self, scenario: Scenario, path: Path | None = None) -> None: ...",
        "def f(self, scenario: Scenario, place: Path | None = None) -> Plan: ...",
        "def f(self, scenario: Scenario, path: Path = HERE) -> Plan: ...",
        "def f(self, scenario: Scenario, path=None) -> Plan: ...",
        "def f(self, scenario: Scenario, path: Path | None = None, *more: str) -> Plan: ...",
        "def f(self, scenario: Scenario, path: Path | None = None, **more: str) -> Plan: ...",
        "def f(self, path: Path | None, scenario: Scenario) -> Plan: ...",
        "def f(self, scenario: Scenario, path: Path | None) -> Plan: ...",
    ],
)
def test_a_changed_signature_differs(changed):
    """Two signatures differ if a parameter is missing, additional, renamed, moved, of another type,
    or given by position instead of by keyword, and also if the returned type differs."""
    declared = ast.parse("def f(self, scenario: Scenario, *, path: Path | None) -> Plan: ...")
    other = ast.parse(changed)
    assert signature(declared.body[0]) != signature(other.body[0])
