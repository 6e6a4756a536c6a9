"""A net as a `.cpn` file for CPN Tools, time in seconds as reals; what it has no words for is
refused, place disciplines excepted: there CPN Tools takes any token."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dfslab.nets.build import Document, Net, document_of
from dfslab.nets.colour import LIST
from dfslab.spec.model import InputError

SORTS = {"int": "INT", "real": "REAL", "bool": "BOOL"}
NORMAL = 1000
TOKEN = re.compile(
    r"\s*(\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d+|[A-Za-z_]\w*"
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
}


def write(net: Net | Document) -> str:
    """The file's text; one page, all nodes on it."""
    return _Writer(document_of(net)).text()


class _Expression:
    """Our expression language to CPN ML, every operation in parentheses."""

    def __init__(
        self, text: str, context: str, document: Document, names: Mapping[str, str]
    ) -> None:
        self.tokens, self.at, self.context, self.names = TOKEN.findall(text), 0, context, names
        self.enums, self.colours = document.get("enums", {}), document["colours"]
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
        """An operand, or the field of a record that it is."""
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
            return field if word in self.enums else f"(#{field} {self.names.get(word, word)})"
        if not word:
            raise InputError(self.context, self.source, "is no expression that can be written")
        return self.names.get(word, word)

    def call(self, name: str) -> str:
        self.next()
        parts = [self.level()]
        while self.peek() == ",":
            self.next()
            parts.append(self.level())
        self.next()
        if name not in CALLS and name in self.colours:
            cells = zip((label for label, _ in self.colours[name]), parts, strict=True)
            return "{" + ",".join(f"{label}={part}" for label, part in cells) + "}"
        if name not in CALLS:
            raise InputError(self.context, self.source, f"CPN Tools has no word for {name}()")
        return CALLS[name].format(*parts)


class _Writer:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.ids = 0
        self.root = ET.Element("workspaceElements")
        ET.SubElement(self.root, "generator", tool="dfslab", version="1", format="6")
        self.net = ET.SubElement(self.root, "cpnet")
        self.block = ET.SubElement(ET.SubElement(self.net, "globbox"), "block", id=self.key())
        ET.SubElement(self.block, "id").text = "Declarations"
        self.page = ET.SubElement(self.net, "page", id=self.key())
        ET.SubElement(self.page, "pageattr", name=str(document["name"]))
        self.declare()
        self.places = {one["name"]: self.place(one) for one in document["places"]}
        for one in document["transitions"]:
            self.transition(one)

    def text(self) -> str:
        ET.indent(self.root)
        return ET.tostring(self.root, encoding="unicode", xml_declaration=True) + "\n"

    def key(self) -> str:
        self.ids += 1
        return f"ID{self.ids}"

    def declare(self) -> None:
        for sort in SORTS.values():
            made = ET.SubElement(self.block, "color", id=self.key())
            ET.SubElement(made, "id").text = sort
            ET.SubElement(made, sort.lower())
        for name, values in self.document.get("enums", {}).items():
            made = ET.SubElement(self.block, "color", id=self.key())
            ET.SubElement(made, "id").text = name
            kind = ET.SubElement(made, "enum")
            for value in values:
                ET.SubElement(kind, "id").text = value
        taken = {*SORTS.values(), *self.document.get("enums", {})}
        self.sets = {
            name: f"{name}_set" if name in taken else name for name in self.document["colours"]
        }
        self.lists: dict[str, str] = {}
        # What lists hold stands before them, and what has lists behind.
        colours = self.document["colours"].items()
        plain = [one for one in colours if not any(sort.startswith(LIST) for _, sort in one[1])]
        self.declare_colours(plain)
        self.declare_lists(taken | set(self.sets.values()))
        self.declare_colours([one for one in colours if one not in plain])
        for name, value in self.document.get("constants", {}).items():
            text = str(value).replace("-", "~")
            ET.SubElement(self.block, "ml", id=self.key()).text = f"val {name} = {text};"
        self.variables: dict[str, str] = {}

    def declare_colours(self, colours: Iterable[tuple[str, Any]]) -> None:
        """Record colour sets, and unit ones where there are no fields."""
        for name, fields in colours:
            made = ET.SubElement(self.block, "color", id=self.key())
            ET.SubElement(made, "id").text = self.sets[name]
            ET.SubElement(made, "timed")
            kind = ET.SubElement(made, "record" if fields else "unit")
            for label, sort in fields:
                one = ET.SubElement(kind, "recordfield")
                ET.SubElement(one, "id").text = label
                ET.SubElement(one, "id").text = self.lists.get(sort) or SORTS.get(sort, sort)

    def declare_lists(self, taken: set[str]) -> None:
        """A colour set for every kind of list, with a name that is free."""
        for sort in {
            sort: None
            for fields in self.document["colours"].values()
            for _, sort in fields
            if sort.startswith(LIST)
        }:
            inner = sort.removeprefix(LIST)
            inner = SORTS.get(inner) or (
                inner if inner in self.document.get("enums", {}) else self.sets.get(inner, inner)
            )
            name = f"{inner}_list"
            while name in taken:
                name += "_"
            self.lists[sort] = name
            made = ET.SubElement(self.block, "color", id=self.key())
            ET.SubElement(made, "id").text = name
            ET.SubElement(ET.SubElement(made, "list"), "id").text = inner

    def variable(self, name: str, colour: str, context: str) -> str:
        """A variable of the file has one type; a second use of a name with another gets its own."""
        own = name if self.variables.get(name, colour) == colour else f"{name}_{colour}"
        if own not in self.variables:
            self.variables[own] = colour
            made = ET.SubElement(self.block, "var", id=self.key())
            ET.SubElement(ET.SubElement(made, "type"), "id").text = self.sets[colour]
            ET.SubElement(made, "id").text = own
        if self.variables[own] != colour:
            raise InputError(context, name, "the name is used for another colour")
        return own

    def place(self, one: Mapping[str, Any]) -> tuple[str, str]:
        node = ET.SubElement(self.page, "place", id=self.key())
        ET.SubElement(node, "text").text = one["name"]
        kind = ET.SubElement(node, "type", id=self.key())
        ET.SubElement(kind, "text").text = self.sets[one["colour"]]
        fields = self.document["colours"][one["colour"]]
        counts: dict[str, int] = {}
        for row in one.get("initial", ()):
            value = self.row(fields, row)
            counts[value] = counts.get(value, 0) + 1
        if counts:
            mark = ET.SubElement(node, "initmark", id=self.key())
            terms = [f"{count}`{value}" for value, count in counts.items()]
            ET.SubElement(mark, "text").text = "++".join(terms)
        return node.get("id", ""), one["colour"]

    def row(self, fields: Sequence[Sequence[str]], row: Sequence[Any]) -> str:
        def cell(value: Any, sort: str) -> str:
            if isinstance(value, list | tuple) and not sort.startswith(LIST):
                return self.row(self.document["colours"][sort], value)
            if isinstance(value, list | tuple):
                return "[" + ",".join(cell(one, sort.removeprefix(LIST)) for one in value) + "]"
            text = str(float(value) if sort == "real" else value)
            return text.lower() if isinstance(value, bool) else text.replace("-", "~")

        if not fields:
            return "()"
        cells = [
            f"{label}={cell(value, sort)}" for (label, sort), value in zip(fields, row, strict=True)
        ]
        return "{" + ",".join(cells) + "}"

    def transition(self, one: Mapping[str, Any]) -> None:
        context = f"page {one.get('page', 'main')}, transition {one['name']}"
        if one.get("weight") is not None:
            raise InputError(context, one["weight"], "CPN Tools has no weights")
        node = ET.SubElement(self.page, "trans", id=self.key(), explicit="false")
        ET.SubElement(node, "text").text = one["name"]
        names: dict[str, str] = {}
        for at, arc in enumerate(one.get("in", ())):
            place, colour = self.places[arc["place"]]
            unit = not self.document["colours"][colour]
            word = arc.get("var") or f"t{at + 1}"
            own = "()" if unit else self.variable(word, colour, context)
            names[word] = own
            self.arc("PtoT", node, place, own)
        if one.get("guard"):
            self.label(node, "cond", f"[{self.expression(one['guard'], names, context)}]")
        if one.get("delay") is not None:
            self.label(node, "time", f"@+{self.expression(one['delay'], names, context)}")
        if one.get("priority"):
            self.label(node, "priority", str(NORMAL - int(one["priority"])))
        for arc in one.get("inhibit", ()):
            if arc.get("at_least", 1) != 1:
                raise InputError(context, arc["at_least"], "CPN Tools inhibits on any token")
            self.arc("Inhibitor", node, self.places[arc["place"]][0], "")
        for arc in one.get("reset", ()):
            self.arc("Reset", node, self.places[arc["place"]][0], "")
        for arc in one.get("out", ()):
            place, colour = self.places[arc["place"]]
            text = self.token(arc.get("token"), colour, names, context)
            if arc.get("delay") is not None:
                text += f" @+ {self.expression(arc['delay'], names, context)}"
            self.arc("TtoP", node, place, text)

    def token(self, token: Any, colour: str, names: Mapping[str, str], context: str) -> str:
        fields = self.document["colours"][colour]
        if not fields:
            return "()"
        if isinstance(token, str):
            return names.get(token) or self.expression(token, names, context)
        cells = [
            f"{label}={self.expression(value, names, context)}"
            for (label, _), value in zip(fields, token, strict=True)
        ]
        return "{" + ",".join(cells) + "}"

    def expression(self, value: Any, names: Mapping[str, str], context: str) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return _Expression(str(value), context, self.document, names).level()

    def label(self, node: ET.Element, tag: str, text: str) -> None:
        ET.SubElement(ET.SubElement(node, tag, id=self.key()), "text").text = text

    def arc(self, kind: str, node: ET.Element, place: str, text: str) -> None:
        made = ET.SubElement(self.page, "arc", id=self.key(), orientation=kind, order="1")
        ET.SubElement(made, "transend", idref=node.get("id", ""))
        ET.SubElement(made, "placeend", idref=place)
        self.label(made, "annot", text)
