"""Tests that the package has no public functions, classes and constants that only tests use."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from support.public_names import PublicName, defined, module_name, unused, used

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "python"
# Programs of the repository that may use the package.
PROGRAMS = ("scripts", "verification", "benches", "scenarios", "docs")
# Names by which members of the package are found (ARCHITECTURE.md, "How to add").
OF_MEMBERS = {"EXISTING", "EXPORTER", "FACTS", "FORMAT", "IMPORTER", "NAMES", "OPERATIONS"}
OF_MEMBERS |= {"READER", "SECTION", "TITLE", "WORKLOAD", "Testbed", "make"}
# Names that only tests use in the repository. The key is the name, and the value is the document
# that describes the name for programs of users.
DOCUMENTED = {
    "dfslab.nets.engine.collect": "docs/nets.md",
    "dfslab.nets.engine.replicate": "docs/nets.md",
    "dfslab.nets.engine.run_to_breakpoint": "docs/nets.md",
}


@cache
def package() -> dict[str, ast.Module]:
    """Returns the syntax trees of the package's modules, by their dotted names."""
    paths = sorted((PYTHON / "dfslab").rglob("*.py"))
    return {module_name(path, PYTHON): ast.parse(path.read_bytes()) for path in paths}


@cache
def unused_names() -> frozenset[str]:
    paths = [path for folder in PROGRAMS for path in sorted((ROOT / folder).rglob("*.py"))]
    programs = [ast.parse(path.read_bytes()) for path in paths]
    found = unused(package(), programs)
    return frozenset(str(one) for one in found if one.name not in OF_MEMBERS)


def test_public_names_are_used_by_more_than_tests():
    wrong = sorted(unused_names() - DOCUMENTED.keys())
    assert not wrong, "\n".join([*wrong, "Delete them, or move them to tests/support."])


def test_every_exception_is_needed_and_documented():
    for name, document in DOCUMENTED.items():
        assert name in unused_names(), name
        assert name.rpartition(".")[2] in (ROOT / document).read_text(encoding="utf-8"), name


def test_the_finder_of_unused_names_can_fail():
    first = "USED = 1\nUNUSED = 2\n_PRIVATE = 3\ndef called(): pass\ndef idle(): idle()\n"
    second = "from p import a\nfrom p.a import USED as x\nclass Alone: pass\na.called()\n"
    trees = {"p.a": ast.parse(first), "p.b": ast.parse(second)}
    assert [str(one) for one in unused(trees, [])] == ["p.a.UNUSED", "p.a.idle", "p.b.Alone"]
    other = ast.parse("import p.a as it\nit.UNUSED\nfrom p.b import Alone\n")
    assert [str(one) for one in unused(trees, [other])] == ["p.a.idle"]


def test_commands_and_references_in_text_are_used():
    command = ast.parse('@app.command("x")\ndef run(): pass\n')
    assert not list(defined("dfslab.cli.x", command))
    text = ast.parse('TABLE = ["x:run"]')
    assert PublicName("dfslab.cli.x", "run") in set(used("t", text, ["dfslab.cli.x"]))
