"""Tests that ARCHITECTURE.md lists every file that may have to be changed when the step language
gets a new kind of node. These files are the visitors of trees, and the files that search trees by
`isinstance`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from dfslab.spec.steps.node import Node

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "dfslab"
NODES = {kind.__name__ for kind in Node.__subclasses__()}
HOME = {"spec/steps/node.py", "spec/steps/operation.py"}


def distinguishes(source: str) -> bool:
    """Returns whether a module has a visitor of operation trees, or tests by `isinstance` or
    `match` of which kind a node is. A module that imports no node is not parsed."""
    if "dfslab.spec.steps." not in source:
        return False
    tree = ast.parse(source)
    imported = {
        name.asname or name.name
        for one in ast.walk(tree)
        if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("dfslab.spec.steps.")
        for name in one.names
    }
    kinds = NODES & imported
    return any(bool(_named(one) & kinds) or _is_visitor(one, imported) for one in ast.walk(tree))


def _is_visitor(one: ast.AST, imported: set[str]) -> bool:
    bases = one.bases if isinstance(one, ast.ClassDef) else []
    names = {name.id for base in bases for name in ast.walk(base) if isinstance(name, ast.Name)}
    return "Visitor" in names & imported


def _named(one: ast.AST) -> set[str]:
    """Returns the names of classes for which the expression or pattern `one` tests an object."""
    if isinstance(one, ast.MatchClass):
        tested: ast.expr = one.cls
    elif isinstance(one, ast.Call) and ast.unparse(one.func) == "isinstance":
        tested = one.args[1]
    else:
        return set()
    return {name.id for name in ast.walk(tested) if isinstance(name, ast.Name)}


def listed() -> set[str]:
    """Returns the files that the section "How to add" of ARCHITECTURE.md lists for a new kind of
    node. The paths are relative to the package."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    (entry,) = re.findall(r"^- \*\*A node of the step language:\*\*(.*?)^- ", text, re.S | re.M)
    return {name for name in re.findall(r"`([\w/]+\.py)`", entry) if not name.startswith("tests/")}


def test_every_file_that_distinguishes_nodes_is_listed():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        if distinguishes(path.read_text(encoding="utf-8"))
    }
    assert listed() - HOME == found - HOME


def test_the_check_finds_a_visitor_and_each_way_to_test_a_node():
    head = "from dfslab.spec.steps.node import Call, Visitor\n"
    assert distinguishes(f"{head}isinstance(one, Call)\n")
    assert distinguishes(f"{head}isinstance(one, int | Call)\n")
    assert distinguishes(f"{head}match one:\n    case Call(role=role):\n        pass\n")
    assert distinguishes(f"{head}class Mine(Visitor[str, int]):\n    pass\n")
    assert not distinguishes(f"{head}Call('read')\n")
    assert not distinguishes("from ast import Call\nisinstance(one, Call)\n")
