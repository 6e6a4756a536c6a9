"""Tests that imports follow one direction between the folders of the Python package and between the
Rust crates, without cycles."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.rust_modules import uses_of_files

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "python" / "dfslab"
CRATES = {
    "stats": set(),
    "workload": {"stats"},
    "load": {"stats", "workload"},
    "link": {"stats", "workload"},
    "net": {"stats", "workload"},
    "trace": {"stats", "workload"},
    "py": {"stats", "workload", "load", "link", "net", "trace"},
}
MAY_IMPORT_CORE = {
    "core_errors.py",
    "testbeds/hosts/delay_line.py",
    "documents/rows.py",  # imports a class of the core, only to check types
    "fleet/agent.py",
    "fleet/run.py",
    "fleet/shards.py",
    "instruments/trace.py",
    "instruments/tracing/call_document.py",
    "models/phase_stream.py",
    "nets/engine.py",
}

# Names by which the package's code declares that a network is emulated.
EMULATION = {"Emulation", "emulated", "emulation"}


def test_python_layers_hold():
    linter = Path(sys.executable).with_name("lint-imports")
    answer = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_programs_and_commands_use_the_same_rooms():
    """In the layers of pyproject.toml, `dfslab.api` and `dfslab.cli` are side by side in the top
    layer, so neither package may import the other package. Code that both packages need is in
    packages of lower layers."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = [one["layers"] for one in table["contracts"] if one["type"] == "layers"]
    assert set(layers[0].split(" | ")) == {"dfslab.api", "dfslab.cli"}


def test_crates_depend_only_downwards():
    for crate, allowed in CRATES.items():
        table = tomllib.loads((ROOT / "core" / crate / "Cargo.toml").read_text())
        ours = {name for name in table["dependencies"] if name.startswith("dfslab-")}
        assert ours <= {f"dfslab-{name}" for name in allowed}, f"core/{crate} imports {ours}"


def _imports_core(source: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (
            node.module == "dfslab._core"
            or (node.module == "dfslab" and any(a.name == "_core" for a in node.names))
        ):
            return True
        if isinstance(node, ast.Import) and any(a.name == "dfslab._core" for a in node.names):
            return True
    return False


def test_only_these_files_import_the_binary():
    found = {
        str(path.relative_to(PYTHON))
        for path in PYTHON.rglob("*.py")
        if _imports_core(path.read_text())
    }
    assert found == MAY_IMPORT_CORE


def test_no_model_knows_of_an_emulated_network():
    """Models take account of the effects of a network (`NetworkEffects`) without naming the cause
    of the effects."""
    texts = {path: path.read_text(encoding="utf-8") for path in (PYTHON / "models").rglob("*.py")}
    assert texts
    assert not {path for path, text in texts.items() if names_in(text) & EMULATION}
    assert names_in("if scenario.deployment.emulated: Emulation()") & EMULATION


def names_in(text: str) -> set[str]:
    """Returns the names and attributes that a module's source uses."""
    nodes = list(ast.walk(ast.parse(text)))
    names = {one.id for one in nodes if isinstance(one, ast.Name)}
    return names | {one.attr for one in nodes if isinstance(one, ast.Attribute)}


def test_the_import_check_can_fail():
    assert _imports_core("from dfslab import _core")
    assert _imports_core("import dfslab._core as c")
    assert not _imports_core("from dfslab import discover")


@pytest.mark.parametrize("module", ["cli.commands", "cli.commands_work", "laboratory"])
def test_what_few_commands_need_is_loaded_by_those(module):
    """Importing one of these modules does not import the libraries that only few commands need.
    With these libraries, the start of every command would take four times as long."""
    heavy = {"sympy", "pint", "scipy.stats", "scipy.optimize", "sklearn", "dask", "distributed"}
    program = f"import sys, dfslab.{module}; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_no_file_imports_itself_through_others():
    """The import graph of the package's files has no cycle, even if imports inside functions and
    imports for type checking are counted."""
    graph = imports_of_files(ROOT / "python")
    assert cycles(graph) == []


def test_the_search_for_cycles_can_fail(tmp_path):
    package = tmp_path / "dfslab"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("def f():\n    from dfslab import b\n")
    (package / "b.py").write_text("from dfslab.c import x\n")
    (package / "c.py").write_text("import dfslab.a\nx = 1\n")
    assert cycles(imports_of_files(tmp_path)) == [["dfslab.a", "dfslab.b", "dfslab.c"]]


@pytest.mark.parametrize("crate", CRATES)
def test_no_rust_file_uses_itself_through_others(crate):
    """Within a crate, the graph of uses has no cycle: file A uses file B if A names an item that B
    defines. Calls of methods and uses in unit tests are not counted."""
    graph = uses_of_files(ROOT / "core" / crate / "src")
    assert graph, "the crate has no source files"
    assert cycles(graph) == []


def crate_of(folder, **files):
    """Writes a Rust crate into `folder` and returns its graph: for each source file, the files
    whose items it names. Each keyword in `files` is the path of a source file without suffix, with
    two underscores for a slash, and its value is the source."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".rs")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return uses_of_files(folder)


def test_the_search_for_rust_cycles_can_fail(tmp_path):
    parent = "mod child;\nuse child::grow;\npub struct Tree;\nfn f() { grow() }\n"
    child = "use super::Tree;\npub fn grow() {}\nimpl Tree { fn g(&self) {} }\n"
    graph = crate_of(tmp_path / "a", lib="mod tree;\n", tree__mod=parent, tree__child=child)
    assert cycles(graph) == [["tree/child.rs", "tree/mod.rs"]]
    # A use is also found in a qualified path, an alias, a list of imports, a glob or a re-export.
    graph = crate_of(
        tmp_path / "b",
        lib="mod a;\nmod b;\nmod c;\npub use c::Last;\n",
        a="pub enum First { One }\nfn f() { crate::b::second(1) }\n",
        b="use crate::{Last as L};\npub fn second(x: u8) -> L { L(x) }\n",
        c="use crate::a::*;\npub struct Last(First);\n",
    )
    assert cycles(graph) == [["a.rs", "b.rs", "c.rs"]]


def test_what_is_no_cycle_of_rust_files(tmp_path):
    in_text = '//! See crate::b::two.\npub struct One;\nconst T: &\'static str = "crate::b::two";\n'
    in_test = "#[cfg(test)]\nmod tests {\n    use crate::two;\n    fn t() { two() }\n}\n"
    graph = crate_of(
        tmp_path,
        # This parent module only declares its child modules and re-exports their items.
        lib="mod a;\nmod b;\npub use a::One;\npub use b::{self, two};\n",
        a=in_text + in_test,
        b="use crate::One;\npub fn two() -> One { One }\n",
    )
    assert graph == {"lib.rs": set(), "a.rs": set(), "b.rs": {"a.rs"}}


def imports_of_files(folder):
    """Returns, for each module of the package in `folder`, the modules of the package that it
    imports."""
    package = folder / "dfslab"
    files = {
        ".".join(("dfslab", *path.relative_to(package).with_suffix("").parts)): path
        for path in package.rglob("*.py")
    }
    graph = {}
    for module, path in files.items():
        named = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        graph[module] = (named & files.keys()) - {module}
    return graph


def cycles(graph):
    """Returns every cycle of the import graph, each cycle as a sorted list of its modules."""
    reached = {module: reach(graph, module) for module in graph}
    found = {
        tuple(sorted(other for other in beyond if module in reached[other]))
        for module, beyond in reached.items()
        if module in beyond
    }
    return sorted(list(one) for one in found)


def reach(graph, module):
    """Returns all modules that `module` imports directly or through other modules."""
    found, left = set(), list(graph[module])
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += graph[one]
    return found
