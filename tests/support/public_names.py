"""Finds public names at the top level of the package's modules, and where they are used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "dfslab"
# Text that names a function or class of a module: "room.module:name".
_REFERENCE = re.compile(r"^[\w.]+:(\w+)$")


@dataclass(frozen=True, order=True)
class PublicName:
    """A function, class or constant at the top level of a module. `module` is its dotted name."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


def module_name(path: Path, root: Path) -> str:
    """Returns the dotted name of a Python file below the folder `root`."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def defined(module: str, tree: ast.Module) -> Iterator[PublicName]:
    """Returns the public names that a module defines. Functions and classes with a decorator that
    registers them are left out. Such a decorator is the call of a method, for example
    `@app.command()`."""
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                names = [] if any(map(_registers, node.decorator_list)) else [node.name]
            case ast.Assign():
                targets = [part for one in node.targets for part in ast.walk(one)]
                names = [one.id for one in targets if isinstance(one, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case _:
                names = []
        yield from (PublicName(module, name) for name in names if not name.startswith("_"))


def _registers(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute)


def used(module: str, tree: ast.Module, modules: Iterable[str]) -> Iterator[PublicName]:
    """Returns the names that a module uses. There are four kinds: names that are imported from a
    module, attributes of imported modules, the module's own names outside their definitions, and
    "module:name" in strings.

    `modules` has the dotted names of all modules. A name in `__all__` counts as used.
    """
    known = frozenset(modules)
    imported = dict(_imported_modules(tree, known))
    for node in tree.body:
        own = node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else None
        for part in ast.walk(node):
            match part:
                case ast.ImportFrom(module=str(source), names=aliases) if source in known:
                    yield from (PublicName(source, alias.name) for alias in aliases)
                case ast.Attribute(value=ast.Name(id=first), attr=name) if first in imported:
                    yield PublicName(imported[first], name)
                case ast.Name(id=name, ctx=ast.Load()) if name != own:
                    yield PublicName(module, name)
                case ast.Constant(value=str(text)):
                    yield from _named_in(text, module, known)


def _imported_modules(tree: ast.Module, known: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Returns (name in this module, dotted name) of each imported module of the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (whole := f"{node.module}.{alias.name}") in known:
                    yield alias.asname or alias.name, whole
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname and alias.name in known:
                    yield alias.asname, alias.name


def _named_in(text: str, module: str, known: frozenset[str]) -> Iterator[PublicName]:
    if match := _REFERENCE.match(text):
        source = text.partition(":")[0]
        for whole in (source, f"{PACKAGE}.{source}", f"{PACKAGE}.cli.{source}"):
            if whole in known:
                yield PublicName(whole, match[1])
    elif text.isidentifier():
        yield PublicName(module, text)


def unused(package: Mapping[str, ast.Module], others: Iterable[ast.Module]) -> list[PublicName]:
    """Returns the public names of a package that neither the package nor other modules use, sorted.
    `package` maps dotted names of modules to their syntax trees. `others` are modules of programs
    that may use the package, without tests."""
    found = {one for module, tree in package.items() for one in defined(module, tree)}
    for module, tree in package.items():
        found.difference_update(used(module, tree, package))
    for tree in others:
        found.difference_update(used("", tree, package))
    return sorted(found)
