"""Tests of the style rules: sizes of files and functions, first sentences of documents, unused
files, and forbidden words."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest
from dfslab import discover

ROOT = Path(__file__).parents[2]
MOST_FILE_LINES, MOST_FUNCTION_LINES, MOST_COLUMNS, MOST_FILES = 500, 70, 100, 15
SOURCES = (".py", ".rs", ".java")
FUNCTION = re.compile(r"^\s*(?:pub(?:\([a-z]+\))?\s+)?(?:const\s+|unsafe\s+|async\s+)*fn\s+(\w+)")
# A method or constructor in a Java file: modifiers and the type of the result before the name.
METHOD = re.compile(
    r"^\s+(?!(?:return|throw|new|else|case)\b)"
    r"(?:(?:public|protected|private|static|final|synchronized|abstract)\s+)*"
    r"(?:<[^(=]*>\s+)?(?:[\w.]+(?:<[^(=]*>)?(?:\[\])*\s+(?=\w+\()|(?=[A-Z]\w*\())"
    r"(\w+)\("
)


def tracked(*suffixes: str) -> list[Path]:
    """Returns the files of the repository that have one of the suffixes. New files are included,
    but not those that git ignores."""
    answer = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [ROOT / line for line in answer.stdout.splitlines() if line.endswith(suffixes)]
    return [path for path in found if path.exists()]


def sizes(path: Path, text: str) -> list[str]:
    """Returns one message for the file if it has too many lines, one for each line that is too
    long, and one for each function that is too long."""
    lines = text.splitlines()
    wrong = [] if len(lines) <= MOST_FILE_LINES else [f"{path}: {len(lines)} lines"]
    wrong += [
        f"{path}:{number}: {len(line)} columns"
        for number, line in enumerate(lines, 1)
        if len(line) > MOST_COLUMNS and "http" not in line
    ]
    if path.suffix == ".py":
        spans = python_functions(text)
    else:
        spans = braced_functions(lines, METHOD if path.suffix == ".java" else FUNCTION)
    wrong += [f"{path}: {name} has {n} lines" for name, n in spans if n > MOST_FUNCTION_LINES]
    return wrong


def python_functions(text: str) -> list[tuple[str, int]]:
    """Returns (name, number of lines) of every function in the Python source `text`."""
    return [
        (node.name, (node.end_lineno or 0) - node.lineno + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def braced_functions(
    lines: list[str], declaration: re.Pattern[str] = FUNCTION
) -> list[tuple[str, int]]:
    """Returns (name, number of lines) of every function in the `lines` of a Rust or Java file, in
    which a function begins as the pattern `declaration` says. A formatted function ends at the
    brace that has the function's indentation."""
    found = []
    for start, line in enumerate(lines):
        match = declaration.match(line)
        if not match or line.rstrip().endswith(";"):
            continue
        indent = line[: len(line) - len(line.lstrip())]
        for end in range(start, len(lines)):
            if end > start and lines[end].startswith(indent + "}"):
                found.append((match.group(1), end - start + 1))
                break
    return found


def test_sizes():
    wrong = [line for path in tracked(*SOURCES) for line in sizes(path, path.read_text())]
    assert not wrong, "\n".join(wrong)


def test_the_size_check_can_fail():
    text = "def f():\n" + "    x = 1\n" * 80
    assert sizes(Path("x.py"), text)
    rust = ["pub fn f() {", *["    let x = 1;"] * 80, "}"]
    assert [n for _, n in braced_functions(rust)] == [82]
    java = ["class A {", "  private static <T> List<T> f(", "      int x) {", *["    g(x);"] * 80]
    java += ["  }", "  A() {", "    return f(1);", "  }", "}"]
    assert braced_functions(java, METHOD) == [("f", 83), ("A", 3)]
    assert sizes(Path("A.java"), "\n".join(java))
    assert sizes(Path("x.py"), "x = '" + "a" * 120 + "'")


def test_the_formatter_decides_everywhere():
    directive = re.compile(r"# fmt" + r": ?(skip|off|on)")
    wrong = [str(path) for path in tracked(".py") if directive.search(path.read_text())]
    assert not wrong, wrong


def test_modules_open_with_one_sentence():
    wrong = []
    for path in tracked(".py"):
        doc = ast.get_docstring(ast.parse(path.read_text()))
        if not doc or not doc.split("\n\n")[0].rstrip().endswith((".", "?", "!")):
            wrong.append(str(path))
    for path in tracked(".rs"):
        first = path.read_text().lstrip()
        if not first.startswith("//!"):
            wrong.append(str(path))
    assert not wrong, "no opening sentence: " + ", ".join(wrong)


def test_rooms_are_small_enough_to_read():
    """A folder of the package has at most 15 files. Folders of discovered members, except that of
    studies, may have more, because they grow with the members."""
    package = ROOT / "python" / "dfslab"
    members = {room.folder for room in discover.ROOMS if room is not discover.STUDIES}
    sizes: dict[str, int] = {}
    for path in package.rglob("*.py"):
        room = path.parent.relative_to(package).as_posix()
        sizes[room] = sizes.get(room, 0) + (path.name != "__init__.py")
    crowded = {room: n for room, n in sizes.items() if n > MOST_FILES and room not in members}
    assert not crowded, crowded


def crowded_folders(paths: Iterable[Path]) -> dict[str, int]:
    """Returns a dictionary from each folder with more than 15 of the files `paths` to the number of
    these files."""
    counts = Counter(path.parent.as_posix() for path in paths)
    return {folder: count for folder, count in counts.items() if count > MOST_FILES}


def test_rooms_of_the_verification_are_small_enough_to_read():
    """A folder of the verification has at most 15 modules, `__init__.py` apart."""
    modules = [path for path in tracked(".py") if path.is_relative_to(ROOT / "verification")]
    found = crowded_folders(
        path.relative_to(ROOT) for path in modules if path.name != "__init__.py"
    )
    assert modules
    assert found == {}


def test_folders_of_rust_and_java_sources_are_small_enough_to_read():
    """A folder of a Rust crate has at most 15 source files, `lib.rs` and `mod.rs` included, and a
    Java package has at most 15 classes."""
    found = crowded_folders(path.relative_to(ROOT) for path in tracked(".rs", ".java"))
    assert found == {}


def test_the_count_of_rust_sources_can_fail():
    most = [Path(f"core/x/src/module_{number}.rs") for number in range(MOST_FILES)]
    assert crowded_folders([*most, Path("core/x/src/room/mod.rs")]) == {}
    assert crowded_folders([*most, Path("core/x/src/lib.rs")]) == {"core/x/src": MOST_FILES + 1}


def test_no_dead_python_file():
    package = ROOT / "python" / "dfslab"
    text = "\n".join(path.read_text() for path in tracked(".py"))
    rooms = tuple(room.folder for room in discover.ROOMS if room is not discover.STUDIES)
    dead = []
    for path in package.rglob("*.py"):
        relative = path.relative_to(package)
        if path.stem.startswith("__") or str(relative).startswith(rooms):
            continue
        dotted = "dfslab." + ".".join(relative.with_suffix("").parts)
        # The table of commands names modules of `dfslab.cli` without the prefix `dfslab.cli.`.
        listed = dotted.removeprefix("dfslab.cli.")
        by_name = rf"\"(?:{dotted}|{listed})\""
        imported = rf"(?:import|from)\s[^\n]*\b{path.stem}\b|{path.stem},?\n|{by_name}"
        if not re.search(imported, text):
            dead.append(str(relative))
    assert not dead, dead


def imported(text: str) -> list[tuple[str, str]]:
    """Returns (module, name) of every import in a test, including imports in programs that the test
    contains as text."""
    trees, found = [ast.parse(text)], []
    while trees:
        for node in ast.walk(trees.pop()):
            if isinstance(node, ast.ImportFrom):
                found += [(node.module or "", alias.name) for alias in node.names]
            elif isinstance(node, ast.Import):
                found += [(alias.name, "") for alias in node.names]
            elif isinstance(node, ast.Constant) and "import " in str(node.value):
                with suppress(SyntaxError, ValueError):
                    trees.append(ast.parse(str(node.value)))
            elif isinstance(node, ast.JoinedStr):
                parts = [
                    str(getattr(part, "value", "0")) if isinstance(part, ast.Constant) else "0"
                    for part in node.values
                ]
                with suppress(SyntaxError, ValueError):
                    trees.append(ast.parse("".join(parts)))
    return found


def is_private(name: str) -> bool:
    """Returns whether a name is private. `_core`, the compiled module, does not count as
    private."""
    return name.startswith("_") and not name.startswith("__") and name != "_core"


def borrowed(text: str, own: str = "") -> list[str]:
    """Returns the imports that a test must not contain: imports from another test module, and
    imports of a private name of dfslab.

    `text` is the source of the test. `own` is the name of its module, which a program within the
    test may import.
    """
    return [
        f"{module}.{name}"
        for module, name in imported(text)
        if any(part.startswith(("test_", "conftest")) for part in [*module.split("."), name])
        and module != own
        or any(map(is_private, [*module.split("."), name]))
    ]


def test_tests_share_by_support_and_know_public_names_only():
    tests = [path for path in tracked(".py") if path.is_relative_to(ROOT / "tests")]
    wrong = {
        str(path): found
        for path in tests
        if path != Path(__file__) and (found := borrowed(path.read_text(), path.stem))
    }
    assert not wrong, wrong


def test_the_check_of_what_tests_import_can_fail():
    assert borrowed("from test_fleet import plan")
    assert borrowed("import test_gain")
    assert borrowed("from unit import test_gain")
    assert borrowed("from unit.test_gain import step")
    assert borrowed("from dfslab.models.petri import _Replication, fire")
    assert borrowed("PROGRAM = 'import sys\\nfrom test_beds import Bed'")
    assert borrowed("PROGRAM = f'x = {1}\\nfrom test_beds import Bed'")
    assert not borrowed("from __future__ import annotations\nfrom dfslab import _core")
    assert not borrowed("from support.clusters import plan")


def optional(text: str) -> list[str]:
    """Returns the lines of a test module that skip a test if a Python package is not installed."""
    skips = re.compile(r"importorskip\(|skipif\([^)]*find_spec|find_spec\(.*\) is None")
    return [line.strip() for line in text.splitlines() if skips.search(line)]


def test_no_test_is_skipped_for_a_missing_package():
    """`make setup` installs every package that tests import. If a package is missing, a test fails
    and is not skipped."""
    tests = [path for path in tracked(".py") if path.is_relative_to(ROOT / "tests")]
    wrong = {
        str(path): found
        for path in tests
        if path != Path(__file__) and (found := optional(path.read_text()))
    }
    assert not wrong, wrong


def test_the_check_of_skips_can_fail():
    assert optional('images = pytest.importorskip("PIL.Image")')
    assert optional('any(importlib.util.find_spec(name) is None for name in ("nbclient",)),')
    assert not optional('@pytest.mark.skipif(shutil.which("strace") is None, reason="strace")')


@pytest.mark.parametrize("word", ["/root/", "/work/", "pypi.org", "crates.io/", "deb.debian.org"])
def test_no_machine_path_or_registry_host(word):
    allowed = {ROOT / "tests/contract/test_tidy.py", ROOT / "Cargo.lock"}
    found = [
        str(path)
        for path in tracked("")
        if path not in allowed
        and path.suffix not in (".png", ".parquet", ".so")
        and path.is_file()
        and word.encode() in path.read_bytes()
    ]
    assert not found, found


def test_one_title_per_document():
    for path in tracked(".md"):
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        titles = [line for line in text.splitlines() if line.startswith("# ")]
        assert len(titles) == 1, f"{path}: {len(titles)} titles"
