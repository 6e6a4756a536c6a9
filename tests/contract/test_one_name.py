"""Tests that names of classes and modules of the package are unique. A class may share its name
with a Rust type only if both have the same meaning. Exceptions are listed with their reasons."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from support.rust_modules import exported_types

REPOSITORY = Path(__file__).parents[2]
ROOT = REPOSITORY / "python" / "dfslab"
# For each JSON Schema that is generated from Rust types: the Python files whose classes are
# generated from the schema or compared with the schema.
SCHEMAS = {
    "load/schema.json": ("documents/load_report.py",),
    "load/plan_schema.json": (
        "spec/streams/vocabulary.py",
        "spec/streams/target.py",
        "spec/streams/plan.py",
        "spec/streams/layer.py",
    ),
    "net/schema.json": ("documents/net_definition.py",),
    "trace/schema.json": ("documents/traces/trace_profile.py",),
    "trace/merged_schema.json": ("documents/traces/merged_calls.py",),
}
# Names that a Python class and a Rust type share, although no schema connects the two. The value
# says why both have this name.
ONE_MEANING = {
    "Game": "the token game: the Python class calls the Rust type",
    "Histogram": "a histogram of latencies: the Python class is its JSON",
    "LiveCounts": "the counts of a run in progress, with the same fields on both sides",
    "NetDefinition": "a net as data: the Python class is its JSON, the Rust type the parsed JSON",
    "Reading": "the options for reading traces: the Rust type has them after they were checked",
    "Result": "each Rust crate names its results so, as the standard library does",
    "Stream": "a stream of operations: specified in Python, generated in Rust",
    "Until": "the condition that ends a replication: the Python class is its JSON",
}
# Modules that discovery looks for in every file system's folder, so their names may repeat.
FIXED = ("facts", "operations", "testbed", "existing", "counters", "net")
# For each class or type alias that several files declare: the reason why this is allowed.
CLASSES = {
    "Testbed": "discovery finds the testbed of a file system by this name",
    "Parameters": "what a member declares: a workload's file by this name, a file system's facts",
}
# For each module name that occurs in several folders: the reason why this is allowed.
MODULES = {
    "__main__": "Python runs a package by the module of this name: dfslab and dfslab.cli",
    "contract": "the interface that the members of each room keep",
    "otlp": "the format: its types, and the exporter",
    "recovery": "recovery after a fault: computed for a run, and rendered on the page",
}


def declared(text: str) -> set[str]:
    """Returns the names of a module's classes and type aliases. Type variables (TypeVar) are local
    and not returned."""
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
    """Returns a dictionary from each class or type alias that several files declare to the paths of
    these files."""
    homes: dict[str, list[str]] = {}
    for path, text in texts.items():
        for name in declared(text):
            homes.setdefault(name, []).append(path)
    return {name: paths for name, paths in homes.items() if len(paths) > 1}


def meaning(path: str) -> str:
    """Returns a text for the module with this path. Modules of the same name are allowed if their
    texts are equal. Three kinds of modules have a common text for each name: modules that discovery
    finds by a fixed name in each file system's folder, modules in folders `formats`, and a study
    with the section of the page that renders its result. The text of any other module is its path.
    """
    *rooms, name = path.removesuffix(".py").split("/")
    if rooms[:1] == ["filesystems"] and len(rooms) == 2 and name in FIXED:
        return f"a file system's {name}"
    if rooms[-1:] == ["formats"]:
        return f"the format {name}"
    if rooms in (["studies"], ["report", "sections"]):
        return f"the study {name} with its section"
    return path


def shared_modules(paths: Iterable[str]) -> dict[str, list[str]]:
    """Returns a dictionary from each module name that has several meanings to its meanings, which
    are texts as returned by `meaning`."""
    found: dict[str, set[str]] = {}
    for path in paths:
        if not path.endswith("__init__.py"):
            found.setdefault(Path(path).stem, set()).add(meaning(path))
    return {name: sorted(known) for name, known in found.items() if len(known) > 1}


def sources() -> dict[str, str]:
    """Returns the source text of every module by its path relative to the package."""
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
    assert shared_modules(["studies/order.py", "report/sections/order.py"]) == {}
    assert shared_modules(["studies/runs/order.py", "report/sections/order.py"]) != {}


def of_schemas() -> dict[tuple[str, str], str]:
    """Returns the description of each type in a JSON Schema of the core. A key is (Python file with
    the class of the type, name of the type)."""
    found = {}
    for schema, files in SCHEMAS.items():
        document = json.loads((REPOSITORY / "core" / schema).read_text("utf-8"))
        types = {document["title"]: document, **document["$defs"]}
        for file in files:
            for name, one in types.items():
                found[file, name] = " ".join(one.get("description", "").split())
    return found


def other_meanings(
    exported: Mapping[str, Mapping[str, str]],
    texts: Mapping[str, str],
    described: Mapping[tuple[str, str], str],
) -> dict[str, list[str]]:
    """Finds class names that are also names of Rust types with another meaning. Returns, for each
    such name, the crates and the Python files that define it.

    `exported` has, for each crate, the documentation of each exported type, `texts` the sources of
    the Python files, and `described` what `of_schemas` returns. A class and a type have the same
    meaning if the description of the class in its schema equals the documentation of the Rust type.
    """
    found: dict[str, list[str]] = {}
    for path, text in texts.items():
        tree = ast.parse(text)
        for name in {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}:
            for crate, documented in exported.items():
                if name in documented and described.get((path, name)) != documented[name]:
                    found.setdefault(name, []).extend([crate, path])
    return found


def test_a_class_and_a_rust_type_of_one_name_mean_the_same():
    crates = sorted(path.parent for path in (REPOSITORY / "core").glob("*/src"))
    exported = {crate.name: exported_types(crate / "src") for crate in crates}
    assert sum(map(len, exported.values())) > 50, "the types of the crates were not found"
    found = other_meanings(exported, sources(), of_schemas())
    assert {name: homes for name, homes in found.items() if name not in ONE_MEANING} == {}
    assert set(ONE_MEANING) <= set(found), "a reason whose name is used once by now"


def test_the_check_finds_a_class_that_is_no_rust_type_of_its_name(tmp_path):
    (tmp_path / "lib.rs").write_text("mod a;\npub use a::{Row, Seat, Table};\n")
    (tmp_path / "a.rs").write_text(
        "/// A row of\n/// values.\n#[derive(Clone)]\npub struct Row;\npub trait Seat {}\n"
        "/// A table.\npub type Table = Vec<Row>;\npub struct Hidden;\n"
    )
    exported = {"x": exported_types(tmp_path)}
    assert exported == {"x": {"Row": "A row of values.", "Seat": "", "Table": "A table."}}
    texts = {"rows.py": "class Row: ...\nclass Table: ...\nclass Hidden: ...\n"}
    same = {("rows.py", "Row"): "A row of values.", ("rows.py", "Table"): "A wooden table."}
    assert other_meanings(exported, texts, same) == {"Table": ["x", "rows.py"]}
    assert set(other_meanings(exported, texts, {})) == {"Row", "Table"}
