"""Tests that names, docstrings and comments avoid words that only this project would use, where the
field has its own terms."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

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
    ("python/dfslab/documents/measured_load.py", "asked_bytes"): "a key of stored results",
    ("python/dfslab/documents/planned_design.py", "bed_s"): "a key of the plan's JSON",
    ("python/dfslab/documents/planned_design.py", "beds"): "a key of the plan's JSON",
    ("python/dfslab/instruments/access.py", "_reach_directory"): REACHES,
    ("python/dfslab/instruments/access.py", "_reach_testbed"): REACHES,
    ("python/dfslab/instruments/access.py", "reach"): REACHES,
    ("python/dfslab/instruments/measuring/cold.py", "asked_bytes"): "the value of that key",
    ("python/dfslab/laboratory.py", "_reach"): REACHES,
    ("python/dfslab/studies/checks/rules/bounds.py", "must_reach_disks"): "data reaches a disk",
    ("python/dfslab/studies/step_times.py", "reach"): "a key of stored results",
    ("python/dfslab/studies/plans/sizing.py", "_reaches"): "a deployment reaches a target",
}
# Words that are allowed in the prose of one file although they are banned. The key is (file, word),
# and the value is the reason. Help texts are output, which tests/golden/help.txt records.
KEPT_PROSE = {("python/dfslab/cli/testbed_commands.py", "of its own"): "a help text"}
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
PROSE = re.compile(
    "|".join([*(rf"\b{word}\b" for word in WORDS), *(rf"\b{phrase}" for phrase in PHRASES)]),
    re.IGNORECASE,
)
# Code in backquotes and quotations within prose; they are not checked for banned words.
QUOTED = re.compile(r"`[^`]*`|\"[^\"\n]*\"")


def keys(tree: ast.AST) -> set[ast.AST]:
    """Returns the fields of a module's typed dictionaries. They are keys of stored JSON, whose
    names cannot be changed."""
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


def rust_prose(text: str) -> Iterator[tuple[int, str]]:
    """Returns (line, text) of each line of a Rust file that is a documentation comment."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("///", "//!")):
            yield number, line.strip()


def wrong_prose(file: str, prose: Iterator[tuple[int, str]]) -> list[str]:
    """Returns one message for each banned word in the prose of a file. Code and quotations within
    the prose are skipped."""
    return [
        f"{file}:{line}: {match[0]!r}"
        for line, text in prose
        for match in PROSE.finditer(" ".join(QUOTED.sub("", text).split()))
        if (file, match[0]) not in KEPT_PROSE
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
    for path in sorted((ROOT / "core").glob("*/src/**/*.rs")):
        wrong += wrong_prose(str(path.relative_to(ROOT)), rust_prose(path.read_text()))
    assert not wrong, "\n".join([*wrong, "STYLE.md and this test have the words to use."])


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
    assert wrong_prose("x.rs", rust_prose("    /// The rows of so many calls."))
    assert not wrong_prose("x.py", python_prose('"""The folder `beds/` and the key "seen"."""'))


def test_every_exception_is_needed():
    for file, name in KEPT_NAMES:
        if (ROOT / file).exists():
            assert name in {found for _, found in names((ROOT / file).read_text())}, (file, name)
    for file, word in KEPT_PROSE:
        prose = python_prose((ROOT / file).read_text())
        assert any(word in found for _, found in prose), (file, word)
