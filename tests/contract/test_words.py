"""Tests that names, docstrings and comments avoid words that only this project would use, where the
field has its own terms."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from support.rust_modules import comments, identifiers

ROOT = Path(__file__).parents[2]
# The keys are banned words, and the values say what to write instead. These words are banned in
# names and in prose.
WORDS = {
    "anew": "again, or the action: reselect, discard, restart",
    "afresh": "again",
    "asked": "requested",
    "bed": "testbed",
    "beds": "testbeds",
    "beside": "compared with, concurrent, or the name of the file",
    "crowd": "concurrency multiplier",
    "naught": "zero, none",
    "said": "reported, stated, predicted",
    "seen": "observed, measured",
    "told": "given, reported, recorded",
    "unproven": "unverified",
    "untold": "unreported",
    "whoever": "the process, client or host",
    "woven": "instrumented",
}
# The keys are banned words, and the values say what to write instead. These words are banned in
# names only, because prose has ordinary uses of them.
IN_NAMES = {
    "hidden": "overlapped, or what is not shown",
    "lane": "logical thread, pipeline",
    "lanes": "logical threads, pipelines",
    "meanings": "classified calls, labels",
    "reach": "half-width, factor of an interval",
    "reaches": "half-widths",
    "tell": "emit, report, send",
    "tells": "reports, shows",
    "dress": "canonical form",
}
# The keys are banned patterns, and the values say what to write instead. These patterns are banned
# in prose only.
PHRASES = {
    r"as sure as": "weighted by inverse variance",
    r"hand-overs?": "context propagation",
    r"hidden (?:time|work|wait|behind|by)": "overlapped",
    r"kept whole": "exemplar traces",
    r"(?:lies|lie) with": "is attributed to",
    r"of (?:its|their) own(?=[.,;:)]|$)": "separate",
    r"so many(?! that)": "the number, by name",
    r"takes the longer": "bottleneck",
    r"the same of": "the noun, repeated",
    r"usual dress": "canonical form",
    r"whole calls": "exemplar traces",
    r"what is left": "residual, remainder",
}
REACHES = "an instrument reaches a file system"
# Names that are allowed although they have a banned word. The key is (file, name), and the value is
# the reason.
KEPT_NAMES = {
    ("python/dfslab/instruments/access.py", "_reach_directory"): REACHES,
    ("python/dfslab/instruments/access.py", "_reach_testbed"): REACHES,
    ("python/dfslab/instruments/access.py", "reach"): REACHES,
    ("python/dfslab/laboratory.py", "_reach"): REACHES,
    ("python/dfslab/studies/checks/rules/bounds.py", "must_reach_disks"): "data reaches a disk",
    ("python/dfslab/studies/step_times.py", "reach"): "a key of stored results",
    ("python/dfslab/studies/plans/sizing.py", "_reaches"): "a deployment reaches a target",
}
# Words that are allowed in the texts of one file although they are banned. The key is (file, word),
# and the value is the reason.
KEPT_TEXTS = {
    ("python/dfslab/studies/traces/trace_store.py", "whole calls"): "types and names of columns",
    ("python/dfslab/testbeds/hosts/score.py", "seen"): "a variable of a program in a string",
}
# Files of other languages than Python whose texts users read: comments and values of scenarios, and
# templates and scripts of pages. Python's `Path.glob` patterns, relative to the repository.
OTHER_TEXTS = (
    "scenarios/**/*.toml",
    "python/dfslab/**/*.toml",
    "python/dfslab/report/templates/*",
    "python/dfslab/web/static/*",
    "python/dfslab/web/templates/*",
)
# Words that are banned in names of Rust and Java, in addition to `WORDS` and `IN_NAMES`.
IN_RUST_AND_JAVA = {"gate": "barrier, interceptor", "together": "shared state, merge, batch"}
# Words of Rust names that are allowed although they are banned. The key is (beginning of the file's
# path, name or word), and the value is the reason.
KEPT_IN_RUST = {
    ("core/net/", "lane"): "a first-in first-out list of a cell",
    ("core/net/", "lanes"): "the first-in first-out lists of a cell",
    ("core/", "files_together"): "a key of the load plan",
}
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
PROSE = re.compile(
    "|".join([*(rf"\b{word}\b" for word in WORDS), *(rf"\b{phrase}" for phrase in PHRASES)]),
    re.IGNORECASE,
)
# Code in backquotes and quotations within prose; they are not checked for banned words.
QUOTED = re.compile(r"`[^`]*`|\"[^\"\n]*\"")


def keys(tree: ast.AST) -> set[ast.AST]:
    """Returns the fields of a module's typed dictionaries. These fields are keys of stored JSON,
    whose names cannot be changed."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    typed = {"TypedDict"}
    for _ in classes:
        typed |= {one.name for one in classes if typed & {ast.unparse(base) for base in one.bases}}
    return {
        part.target
        for one in classes
        if one.name in typed
        for part in one.body
        if isinstance(part, ast.AnnAssign)
    }


def names(text: str) -> Iterator[tuple[int, str]]:
    """Returns (line, name) for every function, class, argument, variable, attribute and import
    alias that a module names.

    Keys of typed dictionaries are not returned.
    """
    tree = ast.parse(text)
    stored = keys(tree)
    for node in ast.walk(tree):
        if node in stored:
            continue
        line = getattr(node, "lineno", 0)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield line, node.name
            case ast.arg():
                yield line, node.arg
            case ast.Name(ctx=ast.Store()):
                yield line, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield line, node.attr
            case ast.ExceptHandler() if node.name:
                yield line, node.name
            case ast.alias() if node.asname:
                yield line, node.asname


def wrong_names(text: str, file: str = "") -> list[str]:
    """Returns one message for each name with a banned part: the line, the name and what to write
    instead."""
    banned = WORDS | IN_NAMES
    return sorted(
        {
            f"{line}: {name}: not {part!r} but {banned[part]}"
            for line, name in names(text)
            if (file, name) not in KEPT_NAMES
            for part in map(str.lower, PART.findall(name))
            if part in banned
        }
    )


def python_prose(text: str) -> Iterator[tuple[int, str]]:
    """Returns (line, text) of each docstring and each comment of a Python module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node)
            if documented:
                yield getattr(node, "lineno", 1), documented
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def python_texts(text: str) -> Iterator[tuple[int, str]]:
    """Returns (line, text) of each string of a Python module that has a space, without docstrings.
    Such strings are mostly output: help, titles, errors. Values in f-strings are left out."""
    tree = ast.parse(text)
    left_out = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr(values=values):
                left_out.update(values)
                parts = [one.value if isinstance(one, ast.Constant) else "…" for one in values]
            case ast.Constant(value=str() as value) if node not in left_out:
                parts = [value]
            case _:
                continue
        if " " in (found := "".join(map(str, parts))):
            yield node.lineno, found


def other_texts() -> Iterator[tuple[str, Iterator[tuple[int, str]]]]:
    """Returns (path relative to the repository, numbered lines) of each file of `OTHER_TEXTS`."""
    for pattern in OTHER_TEXTS:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file():
                yield str(path.relative_to(ROOT)), enumerate(path.read_text().splitlines(), 1)


def wrong_identifiers(text: str, file: str = "") -> list[str]:
    """Returns one message for each name of a Rust or Java source with a banned part: the line, the
    name and what to write instead."""
    banned = WORDS | IN_NAMES | IN_RUST_AND_JAVA
    kept = {word for start, word in KEPT_IN_RUST if file.startswith(start)}
    return [
        f"{line}: {name}: not {part!r} but {banned[part]}"
        for line, name in identifiers(text)
        if name not in kept
        for part in map(str.lower, PART.findall(name))
        if part in banned and part not in kept
    ]


def rust_and_java() -> Iterator[tuple[str, str]]:
    """Returns (path relative to the repository, text) of each Rust and Java source."""
    folders = ("core/*/**/*.rs", "agent/*/src/**/*.java", "python/dfslab/**/*.java")
    others = ("benches/*.java", "scenarios/**/*.java", "tests/**/*.java")
    for pattern in (*folders, *others):
        for path in sorted(ROOT.glob(pattern)):
            yield str(path.relative_to(ROOT)), path.read_text()


def wrong_prose(file: str, prose: Iterator[tuple[int, str]]) -> list[str]:
    """Returns one message for each banned word in the prose of a file. Code and quotations within
    the prose are skipped."""
    return [
        f"{file}:{line}: {match[0]!r}"
        for line, text in prose
        for match in PROSE.finditer(" ".join(QUOTED.sub("", text).split()))
        if (file, match[0]) not in KEPT_TEXTS
    ]


def test_names_are_the_fields_words():
    wrong = []
    for path in sorted((ROOT / "python" / "dfslab").rglob("*.py")):
        file = str(path.relative_to(ROOT))
        wrong += [f"{file}:{line}" for line in wrong_names(path.read_text(), file)]
        wrong += [f"{file}: {part!r}" for part in path.stem.split("_") if part in WORDS | IN_NAMES]
    assert not wrong, "\n".join(wrong)


def test_docstrings_and_comments_are_in_the_fields_words():
    wrong = []
    for path in sorted((ROOT / "python" / "dfslab").rglob("*.py")):
        wrong += wrong_prose(str(path.relative_to(ROOT)), python_prose(path.read_text()))
    for file, text in rust_and_java():
        wrong += wrong_prose(file, comments(text))
    assert not wrong, "\n".join([*wrong, "STYLE.md and this test have the words to use."])


def test_strings_are_in_the_fields_words():
    wrong = []
    for path in sorted((ROOT / "python" / "dfslab").rglob("*.py")):
        wrong += wrong_prose(str(path.relative_to(ROOT)), python_texts(path.read_text()))
    assert not wrong, "\n".join([*wrong, "STYLE.md and this test have the words to use."])


def test_scenarios_and_templates_are_in_the_fields_words():
    wrong, files = [], 0
    for file, lines in other_texts():
        wrong += wrong_prose(file, lines)
        files += 1
    assert not wrong, "\n".join(wrong)
    assert files > 60, "the scenarios and templates were not found"


def test_names_of_rust_and_java_are_the_fields_words():
    wrong, files = [], 0
    for file, text in rust_and_java():
        wrong += [f"{file}:{line}" for line in wrong_identifiers(text, file)]
        wrong += [f"{file}: the file's name" for _ in wrong_identifiers(Path(file).stem, file)]
        files += 1
    assert not wrong, "\n".join(wrong)
    assert files > 200, "the sources were not found"


def test_the_checks_of_words_can_fail():
    assert wrong_names("def f(told): pass")
    assert wrong_names("class _Seen: pass")
    assert wrong_names("MOST_BEDS = 1")
    assert wrong_names("def f(*, anew=True): pass")
    assert wrong_names("self.lanes = 2")
    assert wrong_names("class Reach: pass")
    assert wrong_names("hidden_ns = 0")
    assert not wrong_names("reached = 1")
    assert wrong_names("class Heard:\n    seen: int")
    assert not wrong_names("class Heard(TypedDict):\n    seen: int")
    assert wrong_names("asked_bytes: int")
    assert not wrong_names("testbed = holdings = 'told'")
    assert wrong_prose("x.py", python_prose('"""Whoever waits."""'))
    assert wrong_prose("x.py", python_prose("x = 1  # a profile of its own"))
    assert wrong_prose("x.rs", comments("    /// The rows of so many calls."))
    assert wrong_prose("x.rs", comments("let x = 1; // What is\n// left is small."))
    assert wrong_prose("X.java", comments("/**\n * The clock of\n * its own.\n */"))
    assert not wrong_prose("x.rs", comments('let url = "http://told"; // fine'))
    assert wrong_prose("x.py", python_texts('help = "At most so many markings."'))
    assert wrong_prose("x.py", python_texts('raise Error(f"{key} was asked")'))
    assert wrong_prose("x.py", python_texts('def f():\n    return "No fault " "was asked for."'))
    assert not wrong_prose("x.py", python_texts("key = 'told'\nx = f'{told} x'"))
    assert not wrong_prose("x.py", python_texts('"""A module that is told."""'))
    assert wrong_identifiers("fn tell_monitors(&self) {}")
    assert wrong_identifiers("pub struct Together<'a> {}")
    assert wrong_identifiers("final class Woven { static final long TOLD = 1; }")
    assert wrong_identifiers("let lanes = 1;", "core/trace/src/x.rs")
    assert not wrong_identifiers("let first_lane = 1;", "core/net/src/x.rs")
    assert not wrong_identifiers("let x = \"told\"; // told\nlet c = 't';")
    assert not wrong_prose("x.py", python_prose('"""The folder `beds/` and the key "seen"."""'))


def test_every_exception_is_needed():
    for file, name in KEPT_NAMES:
        if (ROOT / file).exists():
            assert name in {found for _, found in names((ROOT / file).read_text())}, (file, name)
    for file, word in KEPT_TEXTS:
        texts = python_texts((ROOT / file).read_text())
        assert any(word in found for _, found in texts), (file, word)
    for start, word in KEPT_IN_RUST:
        texts = (text for file, text in rust_and_java() if file.startswith(start))
        assert any(re.search(rf"(?<![a-z]){word}(?![a-z])", text) for text in texts), (start, word)
