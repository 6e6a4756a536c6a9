"""Reads Rust sources. Finds the modules of a crate, the types that it exports, and, for each source
file, the other files whose items it uses. Comments and names are read from Java sources, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# Patterns for those parts of Rust and Java sources that are no code: comments, strings and
# characters, and lifetimes. The patterns are tried in this order, so a quote is read as a character
# if a closing quote follows, otherwise as a lifetime.
COMMENT = r"//[^\n]*|/\*.*?\*/"
STRING = r"b?r(?P<hashes>#*)\".*?\"(?P=hashes)|b?\"(?:\\.|[^\"\\])*\"|b?'(?:\\.[^']*|[^'\\])'"
LIFETIME = r"'[A-Za-z_]\w*"
NO_CODE = re.compile(rf"{COMMENT}|{STRING}|{LIFETIME}", re.DOTALL)
COMMENT_MARK = re.compile(r"//[/!]?|/\*+")
# Comment marks (`//`, `/*`, `*`, `*/`) that are no part of a comment's text: those at the beginning
# of each line, and the `*/` at the end.
COMMENT_LINE = re.compile(r"^\s*(?://[/!]?|/\*+|\*/|\*)|\*/\s*$", re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|[{};,*]|\S")
NAME = re.compile(r"[A-Za-z_]\w*")
ITEMS = {"fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules"}
# A `const` after one of these tokens defines no item: it belongs to a pointer `*const T` or to a
# generic parameter `<const N: usize>`.
NO_ITEM_AFTER = {"*", "<", ","}


@dataclass
class Module:
    """One module: a source file, or a `mod name { … }` within a source file.

    `path` is the module's path from the crate's root, `()` for the root. `items` are the names that
    the module defines. `uses` maps each imported name to the path in its `use` declaration. `globs`
    are the paths of `use path::*`. `paths` are all paths in the code; a single name is a path, too.
    """

    path: tuple[str, ...]
    file: str
    items: set[str] = field(default_factory=set)
    uses: dict[str, tuple[str, ...]] = field(default_factory=dict)
    globs: list[tuple[str, ...]] = field(default_factory=list)
    paths: set[tuple[str, ...]] = field(default_factory=set)


Crate = dict[tuple[str, ...], Module]


def code(text: str) -> str:
    """Returns the Rust or Java source `text` with a blank for each comment, string, character and
    lifetime. Line breaks stay, so that lines keep their numbers."""
    return NO_CODE.sub(lambda found: " " + "\n" * found[0].count("\n"), text)


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Returns (line, text) of each comment of a Rust or Java source. Consecutive lines that begin
    with the same comment marks are one comment."""
    last, lines, first = ("", -1), [], 0
    for found in NO_CODE.finditer(text):
        mark = COMMENT_MARK.match(found[0])
        if not mark:
            continue
        line = text.count("\n", 0, found.start()) + 1
        if lines and last != (mark[0], line - 1):
            yield first, " ".join(lines)
            lines = []
        first = first if lines else line
        lines.append(COMMENT_LINE.sub("", found[0]))
        last = (mark[0], line + found[0].count("\n"))
    if lines:
        yield first, " ".join(lines)


def identifiers(text: str) -> Iterator[tuple[int, str]]:
    """Returns (line, name) of each name in the code of a Rust or Java source, keywords included."""
    for line, one in enumerate(code(text).splitlines(), 1):
        for name in NAME.findall(one):
            yield line, name


def use_tree(tokens: list[str], at: int) -> tuple[list[tuple[tuple[str, ...], str]], int]:
    """Reads the tree of a `use` declaration that begins at token `at`.

    Returns two values. The first lists (path, name in this module) of every leaf of the tree, where
    the name of a glob is `*`. The second is the index of the token after the tree.
    """
    path: tuple[str, ...] = ()
    while True:
        token = tokens[at]
        if token == "{":
            found, at = [], at + 1
            while tokens[at] != "}":
                leaves, at = use_tree(tokens, at)
                found += [
                    (path, path[-1]) if leaf == ("self",) else ((*path, *leaf), name)
                    for leaf, name in leaves
                ]
                at += tokens[at] == ","
            return found, at + 1
        if token == "*":
            return [(path, "*")], at + 1
        at += 1
        if token == "as":
            return [(path, tokens[at])], at + 1
        if token != "::":
            path = (*path, token)
        if tokens[at] in (",", "}", ";"):
            return [(path, path[-1])], at


class Reader:
    """Reads one source file, and adds the modules that the file defines to `crate`."""

    def __init__(self, crate: Crate, path: tuple[str, ...], file: str, text: str) -> None:
        self.crate, self.file = crate, file
        self.tokens = [*TOKEN.findall(code(text)), ";"]
        crate[path] = Module(path, file)
        self.read(crate[path], 0)

    def read(self, module: Module, at: int) -> int:
        """Reads a module's tokens from `at` to the brace that closes it, and returns the position
        after that brace."""
        tokens, depth = self.tokens, 0
        while at < len(tokens):
            token = tokens[at]
            after = tokens[at + 1] if at + 1 < len(tokens) else ""
            if token == "}" and depth == 0:
                return at + 1
            depth += (token == "{") - (token == "}")
            if token == "use" and tokens[at - 1] != "+":
                is_private = tokens[at - 1] in ("", ";", "}", "{", "]")
                leaves, at = use_tree(tokens, at + 1)
                self.take_use(module, leaves, is_private)
            elif token == "mod" and tokens[at + 2 : at + 3] == ["{"]:
                inner = Module((*module.path, after), self.file)
                self.crate[inner.path] = inner
                at = self.read(inner, at + 3)
            elif NAME.fullmatch(token):
                if token in ITEMS and depth == 0 and tokens[at - 1] not in NO_ITEM_AFTER:
                    module.items.add(tokens[at + 2] if after == "!" else after)
                at = self.take_path(module, at)
            else:
                at += 1
        return at

    def take_use(
        self, module: Module, leaves: list[tuple[tuple[str, ...], str]], is_private: bool
    ) -> None:
        for path, name in leaves:
            if name == "*":
                module.globs.append(path)
            else:
                module.uses[name] = path
                if is_private:
                    module.paths.add(path)

    def take_path(self, module: Module, at: int) -> int:
        path = [self.tokens[at]]
        while self.tokens[at + 1 : at + 2] == ["::"] and NAME.fullmatch(self.tokens[at + 2]):
            path.append(self.tokens[at + 2])
            at += 2
        if self.tokens[at - 2 * len(path) + 1] != ".":
            module.paths.add(tuple(path))
        return at + 1


def read_crate(folder: Path) -> Crate:
    """Returns every module of the crate whose sources are in `folder`, as a dictionary from the
    module's path to the module.

    `a.rs` and `a/mod.rs` are the module `a`; `lib.rs` is the root. Files are named relative to
    `folder`.
    """
    crate: Crate = {}
    for source in sorted(folder.rglob("*.rs")):
        file = source.relative_to(folder)
        path = file.with_suffix("").parts
        path = path[:-1] if path[-1] in ("mod", "lib") else path
        Reader(crate, path, file.as_posix(), source.read_text("utf-8"))
    return crate


def named_module(
    crate: Crate, start: tuple[str, ...], path: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Returns the full path of the module to which `path` refers if it is written in the module
    `start`. Returns None if `path` refers to no module of the crate."""
    for at, part in enumerate(path):
        if part == "crate":
            start = ()
        elif part == "super":
            start = start[:-1]
        elif (*start, part) in crate:
            start = (*start, part)
        elif part in crate[start].uses and crate[start].uses[part] != path[at:]:
            return named_module(crate, start, (*crate[start].uses[part], *path[at + 1 :]))
        elif part != "self":
            return None
    return start


def definer(crate: Crate, start: tuple[str, ...], path: tuple[str, ...]) -> str | None:
    """Returns the file that defines the item to which `path` refers if it is written in the module
    `start`. Imports (`use`) and re-exports are followed. Returns None if `path` refers to a module,
    to another crate or to a local variable."""
    for length in range(len(path)):
        module = named_module(crate, start, path[:length])
        if module is None:
            return None
        name, rest = path[length], path[length + 1 :]
        if name in ("crate", "self", "super") or (rest and (*module, name) in crate):
            continue
        if name in crate[module].items:
            return crate[module].file
        if name in crate[module].uses:
            given = crate[module].uses[name]
            if given == (name,) or (given[0] == name and (*module, name) not in crate):
                return None
            return definer(crate, module, (*given, *rest))
        for glob in crate[module].globs:
            other = named_module(crate, module, glob)
            is_other = other is not None and other != module
            if is_other and (file := definer(crate, other, path[length:])):
                return file
        return None
    return None


def edges(crate: Crate) -> Iterator[tuple[str, str, str]]:
    """Yields (file, other file, path) for each path in a file that refers to an item of another
    file of the crate. Paths in modules of unit tests (`mod tests`) are left out."""
    for module in crate.values():
        for path in module.paths if "tests" not in module.path else ():
            file = definer(crate, module.path, path)
            if file and file != module.file:
                yield module.file, file, "::".join(path)


def uses_of_files(folder: Path) -> dict[str, set[str]]:
    """Returns for each source file of the crate in `folder` the other files that define the items
    which it names."""
    crate = read_crate(folder)
    graph: dict[str, set[str]] = {module.file: set() for module in crate.values()}
    for file, other, _ in edges(crate):
        graph[file].add(other)
    return graph


def exported_types(folder: Path) -> dict[str, str]:
    """Returns a dictionary from the name of each type that the crate in `folder` exports from its
    root to the type's documentation, in which each line break is a blank. Types are structs, enums,
    unions, type aliases and traits."""
    crate, found = read_crate(folder), {}
    for name in crate[()].uses:
        file = definer(crate, (), (name,))
        text = (folder / file).read_text("utf-8") if file else ""
        kinds = rf"^pub (?:struct|enum|union|type|trait) {name}\b"
        if defined := re.search(rf"((?:^(?://|#).*\n)*){kinds}", text, re.MULTILINE):
            lines = [line[3:].strip() for line in defined[1].splitlines() if line[:3] == "///"]
            found[name] = " ".join(lines)
    return found
