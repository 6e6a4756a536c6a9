"""The subset of CPN ML that inscriptions are read in: text to a tree, a tree to our expressions.

Read: whole and real numbers (`~` negates), strings, `true`, `false`, `()`, names, tuples, records,
lists, `::`, `^^`, `#field v`, `+ - * / div mod`, comparisons, `andalso`, `orelse`, `not`,
`if then else`, multisets with `` ` ``, `++` and `+++`, `empty`, `@+ delay`, and calls of the
functions below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dfslab.spec.model import InputError

TOKEN = re.compile(
    r"\s*(?:(?P<real>~?\d+\.\d+(?:[eE]~?\d+)?)|(?P<int>~?\d+)|(?P<str>\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<name>[A-Za-z][A-Za-z0-9_']*(?:\.[A-Za-z][A-Za-z0-9_']*)*)"
    r"|(?P<op>\+\+\+|\+\+|@\+|::|\^\^|<>|<=|>=|[-+*/=<>`#(),{}@\[\]~^;:|]))"
)
COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
CHARACTERS_MOST, DEPTH_MOST, OPERATORS_MOST = 100_000, 150, 150
COMPARED = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
LEVELS: tuple[Mapping[str, str], ...] = (
    {"orelse": "||"},
    {"andalso": "&&"},
    COMPARED,
    {"::": "cons({0}, {1})", "^^": "concat({0}, {1})"},
    {"+": "+", "-": "-"},
    {"*": "*", "/": "/", "div": "//", "mod": "%"},
)
LISTED, ADDED = 3, 4
RESERVED = {
    "if",
    "then",
    "else",
    "andalso",
    "orelse",
    "not",
    "div",
    "mod",
    "true",
    "false",
    "empty",
    "let",
    "in",
    "end",
    "fn",
    "fun",
    "case",
    "of",
    "val",
}
# CPN Tools' functions: how many arguments, and the same in our language.
FUNCTIONS: Mapping[str, tuple[int, str]] = {
    "exponential": (1, "exponential(1 / ({0}))"),
    "uniform": (2, "uniform({0}, {1})"),
    "erlang": (2, "erlang({0}, ({0}) / ({1}))"),
    "discrete": (2, "floor(uniform({0}, ({1}) + 1))"),
    "bernoulli": (1, "discrete({0})"),
    "round": (1, "round({0})"),
    "floor": (1, "floor({0})"),
    "ceil": (1, "ceil({0})"),
    "abs": (1, "abs({0})"),
    "real": (1, "({0}) * 1.0"),
    "Real.fromInt": (1, "({0}) * 1.0"),
    "Int.min": (2, "min({0}, {1})"),
    "Int.max": (2, "max({0}, {1})"),
    "Real.min": (2, "min({0}, {1})"),
    "Real.max": (2, "max({0}, {1})"),
    "length": (1, "length({0})"),
    "hd": (1, "head({0})"),
    "tl": (1, "tail({0})"),
    "rev": (1, "reverse({0})"),
    "null": (1, "({0} == [])"),
    "mem": (2, "contains({0}, {1})"),
    "List.nth": (2, "at({0}, {1})"),
    "Math.ln": (1, "ln({0})"),
    "Math.exp": (1, "exp({0})"),
    "Math.sqrt": (1, "sqrt({0})"),
}
# Functions written before their arguments without parentheses, as ML allows; how many follow.
APPLIED = {"length": 1, "hd": 1, "tl": 1, "rev": 1, "null": 1, "mem": 2}


@dataclass(frozen=True)
class Tree:
    """A node: what it is, its word, its parts."""

    kind: str
    word: str = ""
    parts: tuple[Tree, ...] = ()


EMPTY = Tree("empty")


def parse(text: str, context: str) -> Tree:
    """An inscription as a tree; `context` names it in the one line that an error is."""
    if len(text) > CHARACTERS_MOST:
        raise InputError(context, len(text), f"at most {CHARACTERS_MOST} characters")
    return _Parser(COMMENT.sub(" ", text), context).whole()


class _Parser:
    """Recursive descent; depth is bounded, so that no text exhausts the stack."""

    def __init__(self, text: str, context: str) -> None:
        self.text, self.context, self.depth = " ".join(text.split()), context, 0
        self.operators = 0
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(self.text):
            found = TOKEN.match(self.text, at)
            if found is None:
                raise self.wrong(f"'{self.text[at : at + 10]}' is not read")
            self.tokens.append((str(found.lastgroup), found.group().strip()))
            at = found.end()
        self.at = 0

    def wrong(self, reason: str) -> InputError:
        return InputError(self.context, self.text[:100], f"{reason}; see the subset of CPN ML")

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, *words: str) -> bool:
        if self.peek() in words and self.at < len(self.tokens):
            self.at += 1
            return True
        return False

    def need(self, word: str) -> None:
        if not self.take(word):
            raise self.wrong(f"'{word}' is expected before '{self.peek() or 'the end'}'")

    def whole(self) -> Tree:
        tree = self.multiset()
        if self.peek():
            raise self.wrong(f"'{self.peek()}' is not expected")
        return tree

    def multiset(self) -> Tree:
        terms = [self.timed()]
        while self.take("++", "+++"):
            terms.append(self.timed())
        return terms[0] if len(terms) == 1 else Tree("sum", "", tuple(terms))

    def timed(self) -> Tree:
        value = self.level(0)
        if self.take("@+"):
            return Tree("at", "", (value, self.level(ADDED)))
        if self.take("@") and self.level(ADDED) != Tree("int", "0"):
            raise self.wrong("a time stamp other than @0 is not read")
        return value

    def level(self, at: int) -> Tree:
        self.depth += 1
        if self.depth > DEPTH_MOST or self.operators > OPERATORS_MOST:
            raise self.wrong("the expression is nested too deeply or too long")
        if at == len(LEVELS):
            tree = self.counted()
        else:
            tree = self.level(at + 1)
            while self.peek() in LEVELS[at]:
                word = LEVELS[at][self.peek()]
                self.operators += 1
                self.at += 1
                # Lists grow at their front, so their operators take all that follows.
                kind, after = ("list op", at) if at == LISTED else ("op", at + 1)
                tree = Tree(kind, word, (tree, self.level(after)))
        self.depth -= 1
        return tree

    def counted(self) -> Tree:
        value = self.atom()
        if self.take("`"):
            return Tree("many", "", (value, self.atom()))
        return value

    def tight(self) -> Tree:
        """An operand of a prefix, with the depth counted."""
        return self.level(len(LEVELS))

    def atom(self) -> Tree:
        kind, word = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if not word:
            raise self.wrong("the expression ends too soon")
        self.at += 1
        if kind in ("int", "real"):
            return Tree(kind, word.replace("~", "-"))
        if kind == "str":
            return Tree("str", word[1:-1])
        if word == "(":
            return self.parenthesised()
        if word == "{":
            return self.record()
        if word == "#":
            field = self.peek()
            self.at += 1
            return Tree("field", field, (self.tight(),))
        if word == "~":
            return Tree("negative", "", (self.tight(),))
        if word == "not":
            return Tree("not", "", (self.tight(),))
        if word == "if":
            return self.choice()
        if word in ("true", "false"):
            return Tree("bool", word)
        if word == "empty":
            return EMPTY
        if word == "[":
            return self.listed()
        if word == "nil":
            return Tree("list")
        if kind == "name" and word not in RESERVED:
            return self.called(word)
        raise self.wrong(f"'{word}' is not read")

    def called(self, name: str) -> Tree:
        name = name.removeprefix("List.") if name.removeprefix("List.") in APPLIED else name
        if name in APPLIED:
            return Tree("call", name, tuple(self.tight() for _ in range(APPLIED[name])))
        if self.peek() != "(":
            return Tree("name", name)
        self.at += 1
        inner = self.parenthesised()
        parts = inner.parts if inner.kind == "tuple" else (inner,)
        return Tree("call", name, () if inner.kind == "unit" else parts)

    def parenthesised(self) -> Tree:
        if self.take(")"):
            return Tree("unit")
        parts = [self.multiset()]
        while self.take(","):
            parts.append(self.multiset())
        self.need(")")
        return parts[0] if len(parts) == 1 else Tree("tuple", "", tuple(parts))

    def listed(self) -> Tree:
        parts: list[Tree] = []
        if self.take("]"):
            return Tree("list")
        while not parts or self.take(","):
            parts.append(self.multiset())
        self.need("]")
        return Tree("list", "", tuple(parts))

    def record(self) -> Tree:
        parts = []
        while True:
            name = self.peek()
            self.at += 1
            self.need("=")
            parts.append(Tree("entry", name, (self.multiset(),)))
            if not self.take(","):
                break
        self.need("}")
        return Tree("record", "", tuple(parts))

    def choice(self) -> Tree:
        condition = self.level(0)
        self.need("then")
        yes = self.multiset()
        self.need("else")
        return Tree("if", "", (condition, yes, self.multiset()))


def conjuncts(text: str, context: str) -> list[Tree]:
    """A guard as its conditions: `[a, b]` or one expression."""
    text = COMMENT.sub(" ", text).strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    if not text:
        return []
    tree = parse(f"({text})", context)
    return list(tree.parts) if tree.kind == "tuple" else [tree]


def expression(tree: Tree, name: Callable[[Tree], str], context: str) -> str:
    """A tree of one value in our language; `name` resolves names, fields, strings and records."""
    inner = lambda one: expression(one, name, context)  # noqa: E731
    if tree.kind in ("int", "real", "bool"):
        return f"({tree.word})" if tree.word.startswith("-") else tree.word
    if tree.kind in ("name", "field", "str", "tuple", "record"):
        return name(tree)
    if tree.kind == "op":
        left, right = (inner(one) for one in tree.parts)
        return f"({left} {tree.word} {right})"
    if tree.kind == "list":
        return f"[{', '.join(inner(one) for one in tree.parts)}]"
    if tree.kind == "list op":
        return tree.word.format(*(inner(one) for one in tree.parts))
    if tree.kind == "not":
        return f"!({inner(tree.parts[0])})"
    if tree.kind == "negative":
        return f"(-{inner(tree.parts[0])})"
    if tree.kind == "if":
        return f"if({', '.join(inner(one) for one in tree.parts)})"
    if tree.kind == "call" and tree.word in FUNCTIONS:
        wanted, form = FUNCTIONS[tree.word]
        if len(tree.parts) != wanted:
            raise InputError(context, tree.word, f"takes {wanted} arguments, not {len(tree.parts)}")
        return form.format(*(inner(one) for one in tree.parts))
    if tree.kind == "call":
        raise InputError(context, tree.word, f"is no function that is read: {', '.join(FUNCTIONS)}")
    raise InputError(context, tree.kind, "cannot stand inside an expression of the subset read")
