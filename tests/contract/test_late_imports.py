"""Tests that an import inside a function has one of the reasons of docs/decisions/031, and that no
other form of late import is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.late_libraries import HEAVY, PARSING, STANDARD

PYTHON = Path(__file__).parents[2] / "python"
LATE = HEAVY | PARSING | STANDARD
# The entry point of the command line. The entry point imports only the module of the command that
# was given.
ENTRY_POINT = "dfslab.cli"


@dataclass(frozen=True)
class Import:
    """One import statement of a module. `modules` are the names of the imported modules. `function`
    is the name of the outermost function around the statement, or "" if the statement runs when its
    module is imported."""

    module: str
    line: int
    modules: frozenset[str]
    function: str = ""


def sources(folder: Path) -> dict[str, str]:
    """Returns the source of each module of the package `dfslab` in `folder`, by the module's name.
    The name of a package stands for its `__init__.py`."""
    found = {}
    for path in sorted((folder / "dfslab").rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return found


def imports_of(module: str, source: str) -> Iterator[Import]:
    """Yields the imports of the module `module` with the text `source`, except imports that only
    serve type checking."""

    def walk(body: list[ast.stmt], function: str) -> Iterator[Import]:
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield Import(module, node.lineno, frozenset(_named(node)), function)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from walk(node.body, function or node.name)
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                yield from walk(node.orelse, function)
            else:
                for part in ("body", "orelse", "finalbody", "handlers", "cases"):
                    yield from walk(getattr(node, part, []), function)

    yield from walk(ast.parse(source).body, "")


def _named(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yields the modules that an import may load: `a.b` and `a.b.c` for `from a.b import c`."""
    for alias in node.names:
        names = [alias.name] if isinstance(node, ast.Import) else [node.module or ""]
        names += [f"{node.module}.{alias.name}"] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[: end + 1]) for end in range(len(parts)))


def loaded(modules: frozenset[str], graph: Mapping[str, frozenset[str]]) -> set[str]:
    """Returns all modules that importing `modules` loads: `modules` themselves, and the modules
    that the package's modules import, directly or through further modules. `graph` has the imports
    of each module of the package. The imports of other libraries are unknown and not returned."""
    found: set[str] = set()
    left = [*modules]
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += graph.get(one, ())
    return found


def without_reason(texts: Mapping[str, str]) -> list[Import]:
    """Returns the imports inside functions that have none of three reasons. The reasons are: the
    import loads a library of LATE that importing the module does not load; the module is the entry
    point; the source of the function is sent to another host."""
    every = [one for module, text in texts.items() for one in imports_of(module, text)]
    graph: dict[str, frozenset[str]] = {}
    for one in every:
        if not one.function:
            graph[one.module] = graph.get(one.module, frozenset()) | one.modules
    found = []
    for one in every:
        own = frozenset(_named(ast.Import([ast.alias(one.module)])))
        new = loaded(one.modules, graph) - loaded(own, graph)
        is_sent = f"inspect.getsource({one.function})" in texts[one.module]
        if one.function and not new & LATE and one.module != ENTRY_POINT and not is_sent:
            found.append(one)
    return found


def test_every_late_import_has_a_reason():
    wrong = [f"{one.module}:{one.line}" for one in without_reason(sources(PYTHON))]
    assert not wrong, f"make these ordinary imports: {', '.join(wrong)}"


def test_a_function_is_the_only_place_of_late_imports():
    """`importlib.import_module` is used only where the name of the imported module is not fixed: in
    the discovery of members, for the table of commands, for the kinds of Dask clusters, and for the
    names that `dfslab` exports. `__import__` is not used at all."""
    dynamic = {
        module
        for module, text in sources(PYTHON).items()
        if any(f"import_module{end}" in text for end in ("(", "\n")) or "__import__(" in text
    }
    assert dynamic == {"dfslab", "dfslab.discover", "dfslab.cli.root", "dfslab.fleet.workers"}


def test_the_check_of_late_imports_can_fail():
    light, heavy = "x = 1\n", "import scipy\n"

    def judged(text: str, top: str = "") -> list[str]:
        texts = {"dfslab.a": top + text, "dfslab.light": light, "dfslab.heavy": heavy}
        texts["dfslab.over"] = "from dfslab.heavy import x\n"
        return [one.function for one in without_reason(texts)]

    assert judged("def f():\n    from dfslab.light import x\n") == ["f"]
    assert judged("def f():\n    import json\n") == ["f"]
    assert judged("def f():\n    import scipy.stats\n") == []
    assert judged("def f():\n    from importlib import metadata\n") == []
    assert judged("def f():\n    from dfslab.over import x\n") == []
    assert judged("def f():\n    if x:\n        from dfslab import over\n") == []
    assert judged("def f():\n    from dfslab.over import x\n", "import scipy\n") == ["f"]
    assert judged("class A:\n    def f(self):\n        from dfslab import light\n") == ["f"]
    assert judged("if TYPE_CHECKING:\n    from dfslab import light\n") == []
    assert judged("def f():\n    import os\n\ns = inspect.getsource(f)\n") == []
