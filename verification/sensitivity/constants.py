"""Reads the table of numeric constants. The table has all constants of the places in PLACES, and
the constants of the Rust core that affect figures. The table states the origin of each constant,
and how the verification varies the constant.

The table is constants.toml. The table contains no values, because the values are read from the
modules.
"""

from __future__ import annotations

import ast
import importlib
import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Literal

from verification.figures import HERE

TABLE = HERE / "constants.toml"
PACKAGE = "dfslab"
SOURCES = HERE.parent / "python" / PACKAGE
# The folders and modules whose numeric constants need a row: those that compute predictions,
# intervals and judgements. All other folders of the package start programs, read files, probe
# hardware and draw. The numbers in these folders are limits of time, work and size, from which no
# figure is computed.
PLACES = (
    "models",
    "studies",
    "instruments/measuring",
    "instruments/visibility.py",
    "spec/steps",
    "spec/hardware",
    "spec/environment.py",
    "report/sections/judgement.py",
    "latency_histogram.py",
    "method.py",
    "quantiles.py",
)
CORE = HERE.parent / "core"
# The folder of the core that is a model. All numeric constants in this folder need a row in the
# table. Elsewhere in the core, only floating-point constants need a row.
CORE_MODEL = "trace/src/replay"
RUST_CONSTANT = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?const ([A-Z0-9_]+): ([a-z0-9]+) =", re.M)
# Two ways to declare a test module in Rust: TEST_MODULE matches a module in another file, and
# OWN_TESTS is the beginning of a module within the same file.
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\nmod (\w+);")
OWN_TESTS = "#[cfg(test)]\nmod tests {"
RUST_NUMBER = re.compile(r"(?<![\w.])\d[\d_]*\.\d+(?:e-?\d+)?")
# Floating-point numbers that need no name. PLAIN has the numbers that change nothing, halve or
# double. Powers of ten of at most SMALL guard against a division by zero. Powers of ten of at least
# LARGE convert units.
PLAIN = {0.0, 0.5, 1.0, 2.0}
SMALL, LARGE = 1e-6, 100.0
# Name, inside a varied module, of the function that changes the value of the constant.
_CHANGE = "_change_of_constant"

Kind = Literal["derived", "cited", "estimated", "choice", "bound", "definition"]
Number = int | float | Fraction
Value = Number | tuple["Value", ...]


@dataclass(frozen=True)
class Constant:
    """One row of constants.toml: constants of one module that have the same origin. `module` is a
    module of the package without the package's name, or a source file of the core.

    `kind` states the origin of the values:

    - `derived`: from a formula.
    - `cited`: from a source.
    - `estimated`: from data.
    - `choice`: chosen; only such constants are varied.
    - `bound`: a limit of work or output.
    - `definition`: a definition.

    `reaches` names the experiments whose headline figures depend on the choice. A choice is varied
    by halving and doubling its distance from `about`. For a ratio that has no effect at 1, `about`
    is 1. The varied value never exceeds `most`.
    """

    module: str
    names: tuple[str, ...]
    kind: Kind
    origin: str
    reaches: tuple[str, ...] = ()
    about: float = 0.0
    most: float | None = None

    def varied(self, value: Value, factor: float) -> Value:
        """Returns the varied `value` of a constant, by its type:

        - Float: the distance from `about` is multiplied by `factor`. The result is at most `most`.
        - Integer: multiplied by `factor` and rounded. The result is at least 1.
        - `Fraction`: multiplied by `factor`.
        - Tuple: each element is varied in the same way.
        """
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
    """Returns the rows of the constants of Python."""
    return _rows("constant")


@cache
def core_table() -> tuple[Constant, ...]:
    """Returns the rows of the constants of the core, which is compiled: they are not varied."""
    return _rows("core")


def _rows(key: str) -> tuple[Constant, ...]:
    with TABLE.open("rb") as stream:
        rows = tomllib.load(stream)[key]
    return tuple(
        Constant(**{**row, "names": tuple(row["names"]), "reaches": tuple(row.get("reaches", ()))})
        for row in rows
    )


def by_name() -> dict[str, Constant]:
    """Returns a dictionary from "MODULE.NAME" of each constant to the row of constants.toml that
    lists it."""
    return {f"{row.module}.{name}": row for row in table() for name in row.names}


def source_files(root: Path = SOURCES) -> list[Path]:
    """Returns the source files of Python whose constants need a row: those in PLACES below
    `root`."""
    found: list[Path] = []
    for place in PLACES:
        path = root / place
        found += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return found


def in_sources(root: Path = SOURCES) -> set[str]:
    """Returns "MODULE.NAME" of every numeric constant in PLACES below `root`. A numeric constant is
    a name that a module binds to an expression with a number."""
    found: set[str] = set()
    for path in source_files(root):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        found |= {f"{module}.{name}" for name in names_of(path.read_text(encoding="utf-8"))}
    return found


def names_of(text: str) -> Iterator[str]:
    """Yields the names of the numeric constants in a module's source text, including those that
    begin with "_".
    """
    for node in ast.parse(text).body:
        yield from _numbers_bound_by(node)


def _numbers_bound_by(node: ast.stmt) -> list[str]:
    """Returns the names that a statement binds to an expression with a number."""
    targets: list[ast.expr] = []
    value: ast.expr | None = None
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, ast.AnnAssign):
        targets, value = [node.target], node.value
    if value is None or not any(map(_is_number, ast.walk(value))):
        return []
    return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def unnamed_in(text: str) -> Iterator[tuple[int, float]]:
    """Yields (line, value) of each floating-point number in a function of a Python module that
    should be a named constant. Numbers in PLAIN, and powers of ten up to SMALL or from LARGE, need
    no name and are left out."""
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Constant) and type(node.value) is float and _is_odd(node.value):
                yield node.lineno, node.value


def _is_odd(value: float) -> bool:
    if value in PLAIN:
        return False
    is_power = math.isclose(10.0 ** round(math.log10(value)), value)
    return not (is_power and (value <= SMALL or value >= LARGE))


def core_sources(root: Path = CORE) -> dict[str, str]:
    """Returns a dictionary from the path of each source file of the core, such as
    "core/CRATE/src/…", to its text. Comments, and code that is compiled only for tests, are left
    out."""
    texts = {one: one.read_text(encoding="utf-8") for one in sorted(root.glob("*/src/**/*.rs"))}
    tests = {
        folder / name
        for path, text in texts.items()
        for name in TEST_MODULE.findall(text)
        for folder in (path.parent, path.with_suffix(""))
    }
    return {
        f"core/{path.relative_to(root)}": re.sub(r"//.*", "", text.partition(OWN_TESTS)[0])
        for path, text in texts.items()
        if tests.isdisjoint((path.with_suffix(""), path.parent))
    }


def in_core(root: Path = CORE) -> set[str]:
    """Returns "FILE.NAME" of every constant of the core that needs a row in the table. In
    CORE_MODEL, these are all numeric constants. Elsewhere, they are the floating-point
    constants."""
    return {
        f"{path}.{name}"
        for path, text in core_sources(root).items()
        for name, kind in RUST_CONSTANT.findall(text)
        if kind in ("f64", "f32") or (CORE_MODEL in path and kind in ("u32", "u64", "usize"))
    }


def value_of(constant: str) -> Value:
    """Returns the present value of a constant, read from its module."""
    module, _, name = constant.rpartition(".")
    found: Value = vars(importlib.import_module(f"{PACKAGE}.{module}"))[name]
    return found


def vary(constant: str, factor: float) -> None:
    """Multiplies a constant by `factor` in this process, as its row of constants.toml requires. The
    value is changed when the module of the constant is imported, directly after the statement that
    binds it.

    The module must not be imported yet. When modules are imported, they may compute values from the
    constant, such as default arguments. These values are then varied too.
    """
    module, _, name = constant.rpartition(".")
    imported = f"{PACKAGE}.{module}"
    assert imported not in sys.modules, f"{imported} is imported already"
    row = by_name()[constant]
    sys.meta_path.insert(0, _VariedFinder(imported, name, lambda value: row.varied(value, factor)))


class _VariedFinder(MetaPathFinder):
    """An import finder for one module. The finder gives the module a loader that varies a
    constant."""

    def __init__(self, module: str, name: str, change: Callable[[Value], Value]) -> None:
        self._module, self._name, self._change = module, name, change

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the specification of the module with the varied constant, or None for any other
        module."""
        if fullname != self._module:
            return None
        found = PathFinder.find_spec(fullname, path, target)
        assert found is not None
        assert found.origin is not None
        loader = _VariedLoader(fullname, found.origin, self._name, self._change)
        return spec_from_file_location(fullname, found.origin, loader=loader)


class _VariedLoader(SourceFileLoader):
    """Loads a module from its source with one additional statement. This statement is directly
    after the statement that binds the constant `name`, and changes the value of the constant."""

    def __init__(self, module: str, path: str, name: str, change: Callable[[Value], Value]) -> None:
        super().__init__(module, path)
        self._name, self._change = name, change

    def get_code(self, fullname: str) -> CodeType:
        """Returns the compiled module, with the added statement. Nothing is cached on disk."""
        tree = ast.parse(self.get_data(self.path))
        place = next(
            place for place, node in enumerate(tree.body) if self._name in _numbers_bound_by(node)
        )
        tree.body[place + 1 : place + 1] = ast.parse(f"{self._name} = {_CHANGE}({self._name})").body
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        """Executes the module, whose added statement calls the function that changes the value."""
        vars(module)[_CHANGE] = self._change
        super().exec_module(module)
