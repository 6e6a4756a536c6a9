"""Converts inscriptions of the engine's language to CPN ML, for writing `.cpn` files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dfslab.documents.net_definition import NetDefinition, WrittenInscription
from dfslab.spec.input_error import InputError

TOKEN = re.compile(
    r"\s*(\"(?:[^\"\\]|\\.)*\"|\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d+|[A-Za-z_]\w*"
    r"|\|\||&&|==|!=|<=|>=|//|[-+*/%<>!(),.\[\]])"
)
LEVELS: tuple[Mapping[str, str], ...] = (
    {"||": "orelse"},
    {"&&": "andalso"},
    {"==": "=", "!=": "<>"},
    {"<": "<", "<=": "<=", ">": ">", ">=": ">="},
    {"+": "+", "-": "-"},
    {"*": "*", "/": "/", "//": "div", "%": "mod"},
)
CALLS = {
    "exponential": "exponential(1.0 / ({0}))",
    "uniform": "uniform({0}, {1})",
    "erlang": "erlang({0}, ({0}) / ({1}))",
    "discrete": "bernoulli({0})",
    "gamma": "gamma(1.0 / ({1}), {0})",
    "weibull": "weibull({0}, {1})",
    "round": "round({0})",
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    "abs": "abs({0})",
    "min": "Int.min({0}, {1})",
    "max": "Int.max({0}, {1})",
    "if": "(if {0} then {1} else {2})",
    "ln": "Math.ln({0})",
    "exp": "Math.exp({0})",
    "sqrt": "Math.sqrt({0})",
    "deterministic": "({0})",
    "length": "length({0})",
    "head": "hd({0})",
    "tail": "tl({0})",
    "reverse": "rev({0})",
    "cons": "({0}::{1})",
    "append": "({0}^^[{1}])",
    "concat": "({0}^^{1})",
    "contains": "(mem ({0}) ({1}))",
    "at": "List.nth({0}, {1})",
    "text": "Int.toString({0})",
    "now": "(Real.fromInt (IntInf.toInt (time ())))",
}


@dataclass
class Scope:
    """The names that an inscription may use.

    `names` maps variables to their names in the file. `kinds` has, for each variable, the types of
    its token's fields. For names that have a single value instead of a token, `singles` has the
    type of the value.
    """

    definition: NetDefinition
    names: dict[str, str]
    kinds: dict[str, dict[str, str]]
    singles: dict[str, str]


def written(value: WrittenInscription, scope: Scope, context: str) -> str:
    """Converts an inscription to CPN ML. Raises InputError if CPN ML cannot express it; `context`
    names the inscription in the message."""
    if isinstance(value, bool):
        return str(value).lower()
    return _Expression(str(value), scope, context).level()


def quoted(text: str) -> str:
    """Returns a text as a string literal of CPN ML."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Text(str):
    """An expression of CPN ML whose value is a text."""


class _Texts(str):
    """An expression of CPN ML whose value is a list of texts."""


def _of_sort(text: str, sort: str) -> str:
    kinds: Mapping[str, type[str]] = {"text": _Text, "list text": _Texts}
    return kinds.get(sort, str)(text)


class _Expression:
    """Parses one expression of the engine's language and converts it to CPN ML. Every operation
    is written in parentheses."""

    def __init__(self, text: str, scope: Scope, context: str) -> None:
        self.tokens, self.at, self.context, self.scope = TOKEN.findall(text), 0, context, scope
        self.names, definition = scope.names, scope.definition
        self.enums, self.colours = definition.enums, definition.colours
        self.functions = definition.functions
        self.source = text

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""

    def level(self, at: int = 0) -> str:
        if at == len(LEVELS):
            return self.part()
        left = self.level(at + 1)
        while self.peek() in LEVELS[at]:
            word = LEVELS[at][self.next()]
            left = f"({left} {word} {self.level(at + 1)})"
        return left

    def part(self) -> str:
        """Converts an operand, together with the field access that may follow the operand in the
        text."""
        found = self.atom()
        if self.peek() != ".":
            return found
        self.next()
        return f"(#{self.next()} ({found}))"

    def atom(self) -> str:
        word = self.next()
        if word == "-":
            return f"~({self.atom()})" if not self.peek()[:1].isdigit() else f"~{self.next()}"
        if word == "!":
            return f"(not {self.atom()})"
        if word == "(":
            inner = self.level()
            self.next()
            return inner
        if word.startswith('"'):
            return _Text(word)
        if word == "[":
            parts = [] if self.peek() == "]" else [self.level()]
            while self.next() == ",":
                parts.append(self.level())
            return "[" + ",".join(parts) + "]"
        if self.peek() == "(":
            return self.call(word)
        if self.peek() == ".":
            self.next()
            field = self.next()
            if word in self.enums:
                return field
            sort = self.scope.kinds.get(word, {}).get(field, "")
            return _of_sort(f"(#{field} {self.names.get(word, word)})", sort)
        if not word:
            raise InputError(self.context, self.source, "is no expression that can be written")
        return _of_sort(self.names.get(word, word), self.scope.singles.get(word, ""))

    def call(self, name: str) -> str:
        self.next()
        parts = [] if self.peek() == ")" else [self.level()]
        while self.peek() == ",":
            self.next()
            parts.append(self.level())
        self.next()
        if name not in CALLS and name in self.colours:
            cells = zip((label for label, _ in self.colours[name]), parts, strict=True)
            return "{" + ",".join(f"{label}={part}" for label, part in cells) + "}"
        if name in self.functions:
            return _of_sort(f"{name}({', '.join(parts)})", self.functions[name].result)
        if name not in CALLS:
            raise InputError(self.context, self.source, f"CPN Tools has no word for {name}()")
        text = CALLS[name].format(*parts)
        if any(isinstance(one, _Text) for one in parts):
            joins, measures = name == "concat", name == "length"
            text = f"({parts[0]}^{parts[-1]})" if joins else text
            text = f"size({parts[0]})" if measures else text
            return _Text(text) if joins or name == "if" else text
        from_texts = name in ("head", "at") and isinstance(parts[0], _Texts)
        kept = any(isinstance(one, _Texts) for one in parts) and name not in ("length", "contains")
        return _Text(text) if from_texts or name == "text" else _Texts(text) if kept else text
