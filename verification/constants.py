"""Reads the table of every numeric constant of models and studies. It states the origin of each
constant, and how the verification varies it.

The table is constants.toml. It holds no values: they are read from the modules.
"""

from __future__ import annotations

import ast
import importlib
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Literal

from verification.figures import HERE

TABLE = HERE / "constants.toml"
PACKAGE = "dfslab"
SOURCES = HERE.parent / "python" / PACKAGE
ROOMS = ("models", "studies")

Kind = Literal["derived", "cited", "estimated", "choice", "bound", "definition"]
Number = int | float | Fraction
Value = Number | tuple["Value", ...]


@dataclass(frozen=True)
class Constant:
    """One row of constants.toml: constants of one module with a common origin.

    `kind` states the origin of the values: `derived` from a formula, `cited` from a source,
    `estimated` from data, or a `choice`. Two kinds are no statistical constants: a `bound` of work
    or output, and a `definition`. `reaches` names the experiments whose headline figures change if
    the choice changes.

    A choice is varied by halving and doubling its distance from `about`, which is 1 for a ratio
    that has no effect at 1. The varied value never exceeds `most`.
    """

    module: str
    names: tuple[str, ...]
    kind: Kind
    origin: str
    reaches: tuple[str, ...] = ()
    about: float = 0.0
    most: float | None = None

    def varied(self, value: Value, factor: float) -> Value:
        """Returns the varied `value` of a constant. The distance of a float from `about` is
        multiplied by `factor`, and the result is at most `most`. An integer is multiplied by
        `factor` and rounded, to at least 1; a fraction is multiplied. Each element of a tuple is
        varied alone."""
        if isinstance(value, tuple):
            return tuple(self.varied(one, factor) for one in value)
        if isinstance(value, int):
            return max(1, round(value * factor))
        if isinstance(value, Fraction):
            return value * Fraction(factor)
        moved = self.about + (value - self.about) * factor
        return moved if self.most is None else min(moved, self.most)


@cache
def table() -> tuple[Constant, ...]:
    """Returns all rows of constants.toml."""
    with TABLE.open("rb") as stream:
        rows = tomllib.load(stream)["constant"]
    return tuple(
        Constant(**{**row, "names": tuple(row["names"]), "reaches": tuple(row.get("reaches", ()))})
        for row in rows
    )


def by_name() -> dict[str, Constant]:
    """Returns a dictionary from "MODULE.NAME" of each constant to the row of constants.toml that
    lists it."""
    return {f"{row.module}.{name}": row for row in table() for name in row.names}


def in_sources(root: Path = SOURCES) -> set[str]:
    """Returns "MODULE.NAME" of every numeric constant in the folders ROOMS below `root`. A numeric
    constant is a name that a module binds to an expression with a number."""
    found: set[str] = set()
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            module = ".".join(path.relative_to(root).with_suffix("").parts)
            found |= {f"{module}.{name}" for name in names_of(path.read_text(encoding="utf-8"))}
    return found


def names_of(text: str) -> Iterator[str]:
    """Yields the names of the numeric constants in a module's source text, including those that
    begin with "_".
    """
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        if any(map(_is_number, ast.walk(value))):
            for target in targets:
                yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def value_of(constant: str) -> Value:
    """Returns the present value of a constant, read from its module."""
    module, _, name = constant.rpartition(".")
    found: Value = vars(importlib.import_module(f"{PACKAGE}.{module}"))[name]
    return found


def vary(constant: str, factor: float) -> None:
    """Varies a constant in this process: in its module, and in all modules that imported it.

    Nothing may have been computed in the process before, because results are cached.
    """
    known = by_name()
    name, old = constant.rpartition(".")[2], value_of(constant)
    new = known[constant].varied(old, factor)
    for path, module in list(sys.modules.items()):
        own = f"{path.removeprefix(f'{PACKAGE}.')}.{name}"
        copied = own == constant or own not in known
        if path.startswith(f"{PACKAGE}.") and copied and vars(module).get(name) is old:
            setattr(module, name, new)
