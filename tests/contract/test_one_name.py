"""One name has one meaning: no two classes and no two modules share a name without a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2] / "python" / "dfslab"
# What discovery looks for in the folder of a file system: fixed names, one meaning each.
FIXED = ("facts", "operations", "testbed", "existing", "counters", "net")
# Class or type alias -> why several files declare it.
CLASSES = {
    "Testbed": "discovery finds the testbed of a file system by this name",
    "Parameters": "what a member declares: a workload's file by this name, a file system's facts",
}
# Module -> why several rooms have it.
MODULES = {
    "bottlenecks": "the study, and the section of the page that renders it",
    "contract": "the interface that the members of each room keep",
    "counters": "what a file system declares, and the types of the declaration",
    "existing": "recognising a file system: how each does, and the loop over all",
    "net": "a Petri net: the command, and a file system's own",
    "operations": "a file system's operations, and the study of their steps with its section",
    "order": "the study, and the section of the page that renders it",
    "otlp": "the format: its types, and the exporter",
    "recovery": "recovery after a fault: measured, and rendered",
    "replay": "replay of a file trace: the workload, and the conversion of the file",
    "server_law": "the study, and the section of the page that renders it",
    "testbed": "a file system's testbed, and the commands on testbeds",
    "trace": "the instrument, its commands, and its section of the page",
    "visibility": "the instrument, and the document that it returns",
}


def declared(text: str) -> set[str]:
    """Classes of a module, and its type aliases; variables of types (TypeVar) are local."""
    tree = ast.parse(text)
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
            of_types = isinstance(value, ast.Call) and ast.unparse(value.func) == "TypeVar"
            if name[0].isupper() and not name.isupper() and not of_types:
                found.add(name)
    return found


def shared_classes(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Class or alias -> the files that declare it, where there are several."""
    homes: dict[str, list[str]] = {}
    for path, text in texts.items():
        for name in declared(text):
            homes.setdefault(name, []).append(path)
    return {name: paths for name, paths in homes.items() if len(paths) > 1}


def meaning(path: str) -> str:
    """What the name of a module stands for: the same for members that discovery finds by it."""
    *rooms, name = path.removesuffix(".py").split("/")
    if rooms[:1] == ["filesystems"] and len(rooms) == 2 and name in FIXED:
        return f"a file system's {name}"
    if rooms[-1:] == ["formats"]:
        return f"the format {name}"
    return path


def shared_modules(paths: Iterable[str]) -> dict[str, list[str]]:
    """Module -> its meanings, where there are several."""
    found: dict[str, set[str]] = {}
    for path in paths:
        if not path.endswith("__init__.py"):
            found.setdefault(Path(path).stem, set()).add(meaning(path))
    return {name: sorted(known) for name, known in found.items() if len(known) > 1}


def sources() -> dict[str, str]:
    """Path below the package -> text, of every module."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in ROOT.rglob("*.py")
    }


def test_a_class_has_one_name_of_its_own():
    found = shared_classes(sources())
    assert {name: paths for name, paths in found.items() if name not in CLASSES} == {}
    assert set(CLASSES) <= set(found), "a reason whose class has one home by now"


def test_a_module_has_one_name_of_its_own():
    found = shared_modules(sources())
    assert {name: known for name, known in found.items() if name not in MODULES} == {}
    assert set(MODULES) <= set(found), "a reason whose module has one home by now"


def test_the_check_finds_a_class_an_alias_and_a_module_of_two_meanings():
    texts = {
        "a/row.py": "class Row: ...\nFound = TypeVar('Found')\n",
        "b/row.py": "Row = tuple[int, ...]\nFound = TypeVar('Found')\nROW = 1\n",
        "filesystems/x/facts.py": "class X: ...\n",
        "filesystems/y/facts.py": "class Y: ...\n",
        "imports/formats/fio.py": "",
        "exports/formats/fio.py": "",
    }
    assert shared_classes(texts) == {"Row": ["a/row.py", "b/row.py"]}
    assert shared_modules(texts) == {"row": ["a/row.py", "b/row.py"]}
    assert shared_modules(["filesystems/x/facts.py", "spec/facts.py"]) == {
        "facts": ["a file system's facts", "spec/facts.py"]
    }
