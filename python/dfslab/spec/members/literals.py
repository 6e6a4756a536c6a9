"""Reads what a Python file assigns to a name, without importing the file."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

from dfslab.spec.members.member_error import DiscoveryError

# Matches the definition of the function `make`. A file with NAMES uses it to construct each member.
MAKE = re.compile(r"^def make\(", re.MULTILINE)


def makes(path: Path) -> bool:
    """Returns whether a file defines the function `make`."""
    return _makes(path, path.stat().st_mtime_ns)


def names(path: Path) -> tuple[str, ...]:
    """Returns the names of members that a file assigns to NAMES; () if it assigns none.

    Raises DiscoveryError if the file is no Python code, or if NAMES is no list or tuple of names.
    """
    found = assigned(path, "NAMES")
    if found is None:
        return ()
    if not isinstance(found, list | tuple) or not all(isinstance(one, str) for one in found):
        raise DiscoveryError(f'{path}: NAMES must be a tuple of names, such as ("mine",)')
    return tuple(str(one) for one in found)


def assigned(path: Path, name: str) -> object:
    """Returns the literal value that a file assigns to `name`; None if it assigns none.

    Raises DiscoveryError if the file is no Python code, or if the value is no literal.
    """
    return _assigned(path, path.stat().st_mtime_ns, name)


# The modification time of a file in ns is part of the key of the caches, so that a changed file is
# read again.
@lru_cache(maxsize=512)
def _makes(path: Path, changed_ns: int) -> bool:
    return MAKE.search(path.read_text(encoding="utf-8")) is not None


@lru_cache(maxsize=512)
def _assigned(path: Path, changed_ns: int, name: str) -> object:
    text = path.read_text(encoding="utf-8")
    # Only the line of the declaration is parsed, because parsing the whole file takes a hundred
    # times as long.
    found = re.search(rf"^{name}\b.*$", text, re.MULTILINE)
    if found is None:
        return None
    try:
        body = ast.parse(found[0]).body
    except SyntaxError:
        body = _parsed(path, text).body
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            assert isinstance(node, ast.Assign | ast.AnnAssign)
            return None if node.value is None else _value(path, name, node.value)
    return None


def _parsed(path: Path, text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise DiscoveryError(f"{path}:{error.lineno}: SyntaxError: {error.msg}") from error


def _value(path: Path, name: str, node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        allowed = "which is read without importing the file, so it must be a literal"
        raise DiscoveryError(f"{path}: computes {name}, {allowed}") from error
