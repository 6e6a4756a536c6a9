"""Declarations of a `.cpn` file: colour sets, variables and constants, and values of them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dfslab.nets.colour import LIST
from dfslab.nets.cpn_ml import EMPTY, Tree, parse
from dfslab.spec.model import InputError

TOKENS_MOST = 100_000
PLAIN = {"int": "int", "intinf": "int", "time": "int", "bool": "bool", "real": "real"}
VALUE = re.compile(r"val\s+([A-Za-z][A-Za-z0-9_']*)\s*(?::\s*\w+\s*)?=\s*(.+?)\s*;?\s*$")


@dataclass(frozen=True)
class ColourSet:
    """A colour set: one value (`scalar`), nothing, or named fields."""

    name: str
    fields: tuple[tuple[str, str], ...]
    scalar: bool = False
    index: str = ""


class Colours:
    """All declarations, by name."""

    def __init__(self, net: ET.Element) -> None:
        self.sets: dict[str, ColourSet] = {}
        self.enums: dict[str, list[str]] = {}
        self.strings: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self.constants: dict[str, float] = {}
        box = net.find("globbox")
        for element in box.iter() if box is not None else ():
            if element.tag == "color":
                self.colour(element)
            elif element.tag == "alias":
                raise InputError("declarations", element.findtext("id"), "aliases are not read")
            elif element.tag == "var":
                self.variable(element)
            elif element.tag == "ml":
                self.constant(element)
            elif element.tag == "globref":
                raise InputError("declarations", element.findtext("id"), "references are not read")
        if self.strings:
            self.enums["STRING"] = list(self.strings.values())

    def colour(self, element: ET.Element) -> None:
        name = (element.findtext("id") or "").strip()
        context = f"colset {name}"
        kinds = [one for one in element if one.tag not in ("id", "layout", "timed", "declare")]
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_']*", name) or len(kinds) != 1:
            raise InputError(context, None, "is no colour set of the subset read")
        kind = kinds[0]
        if kind.tag == "alias":
            self.sets[name] = self.sets[self.known((kind.findtext("id") or "").strip(), context)]
        elif kind.tag == "unit":
            self.sets[name] = ColourSet(name, ())
        elif kind.tag in PLAIN:
            self.sets[name] = ColourSet(name, (("value", PLAIN[kind.tag]),), True)
        elif kind.tag == "string":
            self.sets[name] = ColourSet(name, (("value", "STRING"),), True)
            self.strings.setdefault("", "s0")
        elif kind.tag == "index":
            index = (kind.findtext("id") or "").strip()
            self.sets[name] = ColourSet(name, (("value", "int"),), True, index)
        elif kind.tag == "enum":
            values = [(one.text or "").strip() for one in kind.findall("id")]
            self.enums[name] = values
            self.sets[name] = ColourSet(name, (("value", name),), True)
        elif kind.tag == "list":
            inner = self.sets[self.known((kind.findtext("id") or "").strip(), context)]
            self.sets[name] = ColourSet(name, (("value", LIST + self.held(inner, context)),), True)
        elif kind.tag == "product":
            parts = [(str(at + 1), one) for at, one in enumerate(kind.findall("id"))]
            self.compound(name, [(f"f{at}", one) for at, one in parts], context)
        elif kind.tag == "record":
            parts = []
            for one in kind.findall("recordfield"):
                ids = one.findall("id")
                if len(ids) != 2:
                    raise InputError(context, None, "a record field has a name and a type")
                parts.append(((ids[0].text or "").strip(), ids[1]))
            self.compound(name, parts, context)
        else:
            raise InputError(
                context, kind.tag, "this kind of colour set is not read (unions, subsets)"
            )

    def held(self, inner: ColourSet, context: str) -> str:
        """The type of a list's elements: of single values, or records of them."""
        if any(kind.startswith(LIST) for _, kind in inner.fields):
            raise InputError(
                context,
                inner.name,
                "lists of the subset hold single values, and products and records of them",
            )
        if inner.scalar:
            return inner.fields[0][1]
        if inner.name in PLAIN.values() or not inner.name.isidentifier():
            raise InputError(
                context,
                inner.name,
                "a colour set that lists hold is named by "
                "letters, digits and _, and unlike int, real and bool",
            )
        return inner.name

    def compound(self, name: str, parts: list[tuple[str, ET.Element]], context: str) -> None:
        fields = []
        for label, element in parts:
            inner = self.sets[self.known((element.text or "").strip(), context)]
            if not inner.scalar:
                raise InputError(context, inner.name, "fields of the subset are single values")
            fields.append((label, inner.fields[0][1]))
        self.sets[name] = ColourSet(name, tuple(fields))

    def known(self, name: str, context: str) -> str:
        """The name of a declared colour set; the common ones need no declaration."""
        common = {
            "UNIT": (),
            "INT": (("value", "int"),),
            "BOOL": (("value", "bool"),),
            "REAL": (("value", "real"),),
            "TIME": (("value", "int"),),
        }
        if name not in self.sets and name in common:
            self.sets[name] = ColourSet(name, common[name], bool(common[name]))
        if name not in self.sets:
            raise InputError(context, name, f"is no colour set: {', '.join(self.sets) or 'none'}")
        return name

    def variable(self, element: ET.Element) -> None:
        kind = element.find("type/id")
        colour = (kind.text or "").strip() if kind is not None else ""
        for one in element.findall("id"):
            name = (one.text or "").strip()
            self.variables[name] = self.known(colour, f"var {name}")

    def constant(self, element: ET.Element) -> None:
        text = " ".join((element.text or element.findtext("layout") or "").split())
        if not text:
            return
        found = VALUE.match(text)
        if found is None:
            raise InputError("declarations", text[:60], "only `val name = number;` is read")
        tree = parse(found[2], f"val {found[1]}")
        if tree.kind not in ("int", "real"):
            raise InputError(f"val {found[1]}", found[2][:60], "must be a number")
        self.constants[found[1]] = float(tree.word) if tree.kind == "real" else int(tree.word)

    def documents(self, used: set[str]) -> dict[str, list[list[str]]]:
        """The colour sets that places have or lists hold; the others were parts of them."""
        fields = [pair for one in used for pair in self.sets[one].fields]
        held = {kind.removeprefix(LIST) for _, kind in fields if kind.startswith(LIST)}
        return {
            one: [list(pair) for pair in colour.fields]
            for one, colour in self.sets.items()
            if one in used | held
        }

    def string(self, text: str) -> str:
        """The enumeration value that stands for a string."""
        made = self.strings.setdefault(text, f"s{len(self.strings)}")
        self.enums["STRING"] = list(self.strings.values())
        return made

    def rows(self, text: str, colour: str, context: str) -> list[list[Any]]:
        """An initial marking as rows."""
        if not text:
            return []
        return list(self.tokens(parse(text, context), colour, context))

    def tokens(self, tree: Tree, colour: str, context: str) -> Iterator[list[Any]]:
        if tree == EMPTY:
            return
        if tree.kind == "sum":
            for one in tree.parts:
                yield from self.tokens(one, colour, context)
            return
        count = 1
        if tree.kind == "many":
            number, tree = tree.parts
            count = self.count(number, context)
        if tree.kind == "call" and tree.word == f"{colour}.all" and not tree.parts:
            for value in self.all_values(colour, context):
                yield from ([value] for _ in range(count))
            return
        row = [
            self.literal(one, kind, colour, context)
            for one, kind in self.cells(tree, colour, context)
        ]
        yield from (list(row) for _ in range(count))

    def count(self, tree: Tree, context: str) -> int:
        text = str(self.constants.get(tree.word, tree.word))
        if not re.fullmatch(r"\d{1,6}", text) or int(text) > TOKENS_MOST:
            raise InputError(context, tree.word, f"a count is a number up to {TOKENS_MOST}")
        return int(text)

    def all_values(self, colour: str, context: str) -> list[Any]:
        kind = self.sets[colour].fields[0][1] if self.sets[colour].scalar else ""
        if kind == "bool":
            return [False, True]
        if kind not in self.enums or kind == "STRING":
            raise InputError(context, f"{colour}.all()", "is read for enumerations and bool")
        return list(self.enums[kind])

    def record(self, tree: Tree, wanted: str, context: str) -> str:
        """The colour set of a tuple or record in a list: what is wanted there, else the only one
        that it fits."""
        if wanted:
            return wanted
        labels = sorted(one.word for one in tree.parts)
        fits = [
            one
            for one, found in self.sets.items()
            if not found.scalar
            and found.name == one
            and len(found.fields) == len(tree.parts)
            and (tree.kind == "tuple" or labels == sorted(name for name, _ in found.fields))
            and any(
                (LIST + one) in (kind for _, kind in other.fields) for other in self.sets.values()
            )
        ]
        if len(fits) != 1:
            names = ", ".join(fits) or "no colour set in a list"
            raise InputError(
                context,
                tree.kind,
                f"cannot stand inside an expression of the subset read: it fits {names}",
            )
        return fits[0]

    def cells(self, tree: Tree, colour: str, context: str) -> list[tuple[Tree, str]]:
        """The parts of a value or pattern, each with the type of its field."""
        found = self.sets[colour]
        kinds = [kind for _, kind in found.fields]
        if tree.kind == "record" and not found.scalar:
            parts = {one.word: one.parts[0] for one in tree.parts}
            if sorted(parts) != sorted(name for name, _ in found.fields):
                raise InputError(context, "{…}", f"colour set {colour} has other fields")
            return [(parts[name], kind) for name, kind in found.fields]
        parts_of = tree.parts if tree.kind == "tuple" else (tree,)
        if tree.kind == "unit":
            parts_of = ()
        if found.scalar and len(parts_of) == 1:
            return [(parts_of[0], kinds[0])]
        if len(parts_of) != len(kinds) or tree.kind == "record":
            raise InputError(context, tree.kind, f"does not fit colour set {colour}")
        return list(zip(parts_of, kinds, strict=True))

    def literal(self, tree: Tree, kind: str, colour: str, context: str) -> Any:
        if tree.kind == "call" and tree.word == self.sets[colour].index and len(tree.parts) == 1:
            tree = tree.parts[0]
        if tree.kind == "list" and kind.startswith(LIST):
            inner = kind.removeprefix(LIST)
            return [self.literal(one, inner, colour, context) for one in tree.parts]
        if tree.kind in ("tuple", "record") and kind in self.sets and not self.sets[kind].scalar:
            cells = self.cells(tree, kind, context)
            return [self.literal(one, inner, kind, context) for one, inner in cells]
        if tree.kind == "int" and kind in ("int", "real"):
            return int(tree.word)
        if tree.kind == "real" and kind == "real":
            return float(tree.word)
        if tree.kind == "bool" and kind == "bool":
            return tree.word == "true"
        if tree.kind == "str" and kind == "STRING":
            return self.string(tree.word)
        if tree.kind == "name" and tree.word in self.enums.get(kind, ()):
            return tree.word
        if tree.kind == "name" and tree.word in self.constants and kind in ("int", "real"):
            return self.constants[tree.word]
        raise InputError(context, tree.word or tree.kind, f"is no value of {kind}")
