"""Tests of the functions that lead from a scenario to the page. Each has the parameter types and
the return type that ARCHITECTURE.md lists for it."""

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
    """One function on the way from a scenario to the page, with the types that ARCHITECTURE.md
    states for it."""

    file: str
    name: str
    given: dict[str, str]
    gives: str


def steps() -> list[Step]:
    found = []
    for line in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines():
        if match := LINE.match(line):
            function = ast.parse(f"def f({match['given']}): ...").body[0]
            assert isinstance(function, ast.FunctionDef)
            given = {one.arg: ast.unparse(one.annotation) for one in function.args.args}
            found.append(Step(match["file"], match["name"], given, match["gives"]))
    return found


def signature(step: Step) -> tuple[dict[str, str], str]:
    """Returns the arguments and the return type that the source declares for the function of
    `step`: (types by the arguments' names, return type)."""
    body = ast.parse((ROOT / "python" / "dfslab" / step.file).read_text(encoding="utf-8")).body
    *classes, name = step.name.split(".")
    for outer in classes:
        body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == outer).body
    function = next(n for n in body if isinstance(n, ast.FunctionDef) and n.name == name)
    arguments = [*function.args.args, *function.args.kwonlyargs]
    given = {one.arg: ast.unparse(one.annotation) for one in arguments if one.annotation}
    return given, ast.unparse(function.returns)


def test_the_walk_has_ten_steps():
    assert len(steps()) == 10


@pytest.mark.parametrize("step", steps(), ids=lambda step: step.name)
def test_a_step_of_the_walk_is_a_function_of_that_signature(step):
    given, gives = signature(step)
    assert step.given.items() <= given.items()
    assert step.gives == gives
    for kind in (*step.given.values(), step.gives):
        assert "dict" not in kind
        assert "Any" not in kind
