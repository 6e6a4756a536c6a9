"""Holds the colour sets of a `.cpn` file with their types and values, and converts types and
values to those of a net definition."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from dfslab.documents.net_definition import Cell
from dfslab.nets.colour import LIST
from dfslab.nets.cpn.cpn_values import (
    BOOL,
    INT,
    REAL,
    TEXT,
    UNIT,
    CpnValue,
    Items,
    Leaf,
    ListType,
    Plain,
    Rec,
    Struct,
    ValueType,
    clean,
    constant,
    flat,
    joined,
    kind_of,
    words,
)
from dfslab.spec.model import InputError

MEMBERS_MOST = 10_000
PLAIN = {"int": INT, "intinf": INT, "time": INT, "bool": BOOL, "real": REAL, "string": TEXT}
COMMON: dict[str, ValueType] = {
    "UNIT": UNIT,
    "INT": INT,
    "INTINF": INT,
    "BOOL": BOOL,
    "REAL": REAL,
    "TIME": INT,
    "STRING": TEXT,
}
# Names that the engine's inscription language reserves. A colour with such a name is renamed.
TAKEN = ("int", "real", "bool", "text", "if", "min", "max", "head", "tail", "length", "at", "cons")


@dataclass(frozen=True)
class ColourSet:
    """A colour set of a file: its name and type, and a function that lists its values if they
    are few."""

    name: str
    kind: ValueType
    members: Callable[[], list[CpnValue]] | None = None


class Colours:
    """All colour sets of a file, by name."""

    def __init__(self) -> None:
        self.sets: dict[str, ColourSet] = {}
        self.enums: dict[str, list[str]] = {}
        # The reason for which a colour set could not be read. Only nets that use this colour set
        # are rejected.
        self.broken: dict[str, InputError] = {}
        self.names: dict[Struct, str] = {}
        # Colours of records in lists. No place has such a colour.
        self.held: dict[str, Struct] = {}

    def add(
        self, name: str, kind: ValueType, members: Callable[[], list[CpnValue]] | None = None
    ) -> None:
        """Adds a colour set with its type, and the function that lists its values if they are
        few."""
        self.sets[name] = ColourSet(name, kind, members)
        if isinstance(kind, Struct) and kind not in self.names:
            self.names[kind] = self.free(name)

    def free(self, name: str) -> str:
        """Returns a name like `name` that no colour or enumeration uses yet."""
        name = clean(name)
        while name in TAKEN or name in self.enums or name in self.names.values():
            name += "_"
        return name

    def enumeration(self, name: str, values: list[str]) -> Plain:
        """Adds an enumeration with these values, and returns its type."""
        own = self.free(name)
        self.enums[own] = values
        return Plain(own)

    def known(self, name: str, context: str) -> ColourSet:
        """Returns a colour set by name. Predefined colour sets need no declaration. Raises
        InputError if the name is unknown or its declaration could not be read."""
        if name in self.broken:
            raise self.broken[name]
        if name not in self.sets and name in COMMON:
            members = booleans if COMMON[name] == BOOL else None
            self.add(name, COMMON[name], members)
        if name not in self.sets:
            listed = ", ".join(self.sets) or "none"
            raise InputError(context, name, f"is no colour set that is declared: {listed}")
        return self.sets[name]

    def members(self, name: str, context: str) -> list[CpnValue]:
        """Returns all values of a small colour set. Raises InputError if the colour set is too
        large."""
        found = self.known(name, context)
        if found.members is None:
            raise InputError(
                context,
                name,
                f"has more values than can be listed: {words(found.kind)}; give it a range",
            )
        return found.members()

    # Types and values in the form that net definitions use.

    def type_name(self, kind: ValueType, context: str) -> str:
        """Returns the name of a type in the net. Raises InputError if a field cannot have this
        type."""
        if isinstance(kind, Plain):
            return kind.name
        if isinstance(kind, ListType) and isinstance(kind.inner, Plain):
            return LIST + kind.inner.name
        if isinstance(kind, ListType) and isinstance(kind.inner, Struct):
            return LIST + self.record_name(kind.inner, context)
        if isinstance(kind, ListType) and isinstance(kind.inner, ListType):
            return LIST + self.record_name(boxed(kind.inner), context)
        if isinstance(kind, ListType) and kind.inner is None:
            return LIST + "int"
        raise InputError(context, words(kind), "is no type of a token's field")

    def record_name(self, kind: Struct, context: str) -> str:
        """Returns the name of the colour of records of one type in lists. The colour is added if
        it is new."""
        if kind not in self.names:
            self.names[kind] = self.free("pair")
        self.held[self.names[kind]] = kind
        return self.names[kind]

    def fields(self, kind: ValueType, context: str) -> list[tuple[str, str]]:
        """Returns (label, name of the type) for each field of a token of this type."""
        return [(label, self.type_name(one, context)) for label, one in flat(kind)]

    def leaves(self, value: CpnValue, context: str) -> list[Leaf]:
        """Returns the fields of a value in the order of the function `flat`: records within
        records are replaced by their fields."""
        if isinstance(value, Rec):
            return [leaf for _, one in value.fields for leaf in self.leaves(one, context)]
        return [self.leaf(value, context)]

    def leaf(self, value: CpnValue, context: str) -> Leaf:
        """Returns a single value or a list as text of the engine's language. Raises InputError for
        other values."""
        if isinstance(value, Leaf):
            return value
        kind = kind_of(value)
        if not isinstance(value, Items) or not isinstance(kind, ListType):
            raise InputError(context, words(kind), "stands where a single value is expected")
        self.type_name(kind, context)
        parts = [self.element(one, kind.inner, context) for one in value.items]
        drawn = any(one.draws for one in parts)
        text = "[" + ", ".join(one.text for one in parts) + "]"
        if value.tail:
            drawn, text = drawn or value.tail.draws, value.tail.text
            for one in reversed(parts):
                text = f"cons({one.text}, {text})"
        return Leaf(text, kind, draws=drawn)

    def element(self, value: CpnValue, kind: ValueType | None, context: str) -> Leaf:
        """Returns a value as one element of a list, as text of the engine's language. A record
        or an inner list becomes one record."""
        if isinstance(kind, ListType):
            inner = self.leaf(value, context)
            name = self.record_name(boxed(kind), context)
            return Leaf(f"{name}({inner.text})", Plain(name), draws=inner.draws)
        if not isinstance(kind, Struct):
            return self.leaf(value, context)
        name = self.record_name(kind, context)
        if isinstance(value, Rec) and value.base:
            return Leaf(value.base, Plain(name))
        parts = self.leaves(value, context)
        text = f"{name}({', '.join(one.text for one in parts)})"
        return Leaf(text, Plain(name), draws=any(one.draws for one in parts))

    def fitted(self, value: CpnValue, colour: str, context: str) -> CpnValue:
        """Converts a value to a colour set. An int becomes a real where a real is expected. Raises
        InputError if the value does not fit."""
        kind = self.sets[colour].kind
        if kind == REAL and isinstance(value, Leaf) and value.kind == INT:
            return constant(float(value.constant), REAL) if value.known else value
        if isinstance(kind, Struct) and isinstance(value, Rec):
            pairs = zip(kind.fields, value.fields, strict=False)
            if len(kind.fields) == len(value.fields) and all(a[0] == b[0] for a, b in pairs):
                return self.fitted_fields(value, kind, colour, context)
        if joined(kind, kind_of(value)) != kind:
            found = words(kind_of(value))
            raise InputError(
                context, found, f"does not fit colour set {colour}, which is {words(kind)}"
            )
        return value

    def fitted_fields(self, value: Rec, kind: Struct, colour: str, context: str) -> Rec:
        """Returns a record whose fields have the types of a colour set. Whole numbers that are
        known become real numbers where needed. Raises InputError for a field of another type."""
        made = []
        for (label, wanted), (_, one) in zip(kind.fields, value.fields, strict=True):
            if wanted == REAL and isinstance(one, Leaf) and one.kind == INT and one.known:
                one = constant(float(one.constant), REAL)
            elif joined(wanted, kind_of(one)) != wanted and (wanted, kind_of(one)) != (REAL, INT):
                raise InputError(
                    f"{context}, field {label}",
                    words(kind_of(one)),
                    f"does not fit colour set {colour}, which is {words(kind)}",
                )
            made.append((label, one))
        return Rec(tuple(made), value.union, value.base)

    def row(self, value: CpnValue, context: str) -> list[Cell]:
        """Returns a value that is known while the file is read as the field values of an initial
        token."""
        parts = (one for _, one in value.fields) if isinstance(value, Rec) else (value,)
        return [cell for one in parts for cell in self.cells(one, context)]

    def cells(self, value: CpnValue, context: str) -> Iterator[Cell]:
        """Yields the fields of a value that is known while the file is read, each as data of a
        token."""
        if isinstance(value, Rec):
            for _, one in value.fields:
                yield from self.cells(one, context)
        elif isinstance(value, Items) and value.tail is None:
            boxes = isinstance(value.items[0], Rec | Items) if value.items else False
            rows = [self.row(one, context) for one in value.items]
            yield list[Cell](rows) if boxes else [row[0] for row in rows]
        elif isinstance(value, Leaf) and value.text == "[]":
            yield []
        elif isinstance(value, Leaf) and value.known:
            yield value.constant
        else:
            text = value.text if isinstance(value, Leaf) else words(kind_of(value))
            raise InputError(context, text[:60], "is not known before the net runs")

    def documents(self, used: set[str], context: str) -> dict[str, list[tuple[str, str]]]:
        """Returns the fields, as (name, type name), of the colours of places in `used` and of
        the colours of records in lists."""
        made: dict[str, list[tuple[str, str]]] = {}
        for name in sorted(used):
            made[self.colour_name(name)] = self.fields(self.sets[name].kind, context)
        waiting = [name for name in self.held if name not in made]
        while waiting:
            for name in waiting:
                made[name] = self.fields(self.held[name], context)
            # The lists in a record may have added further colours.
            waiting = [name for name in self.held if name not in made]
        return made

    def colour_name(self, name: str) -> str:
        """Returns the name that a colour set of the file has in net definitions."""
        kind = self.sets[name].kind
        return self.names.get(kind, name) if isinstance(kind, Struct) else name

    # The values of colour sets that have few values.

    def structs(self, kind: Struct, parts: list[tuple[str, str]], context: str) -> list[CpnValue]:
        """Returns all records of a type whose fields have small colour sets. `parts` are pairs of
        field name and colour set. Raises InputError if there are too many."""
        choices = [self.members(name, context) for _, name in parts]
        count = 1
        for one in choices:
            count *= len(one)
        if count > MEMBERS_MOST:
            raise InputError(context, count, f"at most {MEMBERS_MOST} values can be listed")
        labels = [label for label, _ in parts]
        return [Rec(tuple(zip(labels, one, strict=True)), kind.union) for one in product(*choices)]


def boxed(kind: ListType) -> Struct:
    """Wraps a list type that is the element of another list in a record type with one field,
    since lists do not contain lists."""
    return Struct((("value", kind),))


def booleans() -> list[CpnValue]:
    """Returns both truth values, in the order of CPN Tools."""
    return [constant(False, BOOL), constant(True, BOOL)]


def between(low: int, high: int, context: str) -> list[CpnValue]:
    """Returns the numbers from `low` to `high`, both included, as values. Raises InputError if
    there are too many."""
    if high - low >= MEMBERS_MOST:
        raise InputError(context, high - low + 1, f"at most {MEMBERS_MOST} values can be listed")
    return [constant(at, INT) for at in range(low, high + 1)]


def text_of(element: ET.Element | None) -> str:
    """Returns the text of an XML element with its lines joined by spaces; empty if there is no
    element."""
    return " ".join((element.text or "").split()) if element is not None else ""
