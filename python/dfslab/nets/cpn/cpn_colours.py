"""The colour sets of a `.cpn` file. A colour set is the type of a place's tokens. The module lists
the values of colour sets, and converts types and values to those of a net definition."""

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
from dfslab.spec.input_error import InputError

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
# Names that the inscription language of the engine reserves. A colour with one of these names is
# renamed.
TAKEN = ("int", "real", "bool", "text", "if", "min", "max", "head", "tail", "length", "at", "cons")


@dataclass(frozen=True)
class ColourSet:
    """A colour set of a file: its name, its type, and a function that returns all values of the
    colour set (None if there are too many values to list)."""

    name: str
    kind: ValueType
    members: Callable[[], list[CpnValue]] | None = None


class Colours:
    """All colour sets of a file, found by their names."""

    def __init__(self) -> None:
        self.sets: dict[str, ColourSet] = {}
        self.enums: dict[str, list[str]] = {}
        # The error of each colour set that could not be read, by the name of the colour set. The
        # error is raised only if a net uses this colour set.
        self.broken: dict[str, InputError] = {}
        self.names: dict[Struct, str] = {}
        # The names of the timed colour sets. If a file has none, all its colour sets are read as
        # timed: without this rule, no delay of the file would have an effect.
        self.timed: set[str] = set()
        # The record types of list elements, by the names of their colours. No place has such a
        # colour.
        self.held: dict[str, Struct] = {}

    def add(
        self, name: str, kind: ValueType, members: Callable[[], list[CpnValue]] | None = None
    ) -> None:
        """Adds a colour set with its type. `members`: function that returns all values; None if
        there are too many values to list."""
        self.sets[name] = ColourSet(name, kind, members)
        if isinstance(kind, Struct) and kind not in self.names:
            self.names[kind] = self.free(name)

    def free(self, name: str) -> str:
        """Returns a name that is not reserved and that no colour or enumeration uses yet: `name`,
        with underscores at the end if needed."""
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

    def is_timed(self, name: str) -> bool:
        """Returns whether the tokens of a colour set have time stamps, so that delays apply to
        them."""
        return not self.timed or name in self.timed

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
        """Returns the name that a type has in net definitions. Raises InputError if a field cannot
        have this type."""
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
        """Returns the name of the colour for records of the type `kind` that are elements of lists.
        The colour is added if it is new."""
        if kind not in self.names:
            self.names[kind] = self.free("pair")
        self.held[self.names[kind]] = kind
        return self.names[kind]

    def fields(self, kind: ValueType, context: str) -> list[tuple[str, str]]:
        """Returns, for each field of a token of this type, its label and the name of its type."""
        return [(label, self.type_name(one, context)) for label, one in flat(kind)]

    def leaves(self, value: CpnValue, context: str) -> list[Leaf]:
        """Returns the fields of a value in the order of the function `flat`. Records within records
        are replaced by their fields."""
        if isinstance(value, Rec):
            return [leaf for _, one in value.fields for leaf in self.leaves(one, context)]
        return [self.leaf(value, context)]

    def leaf(self, value: CpnValue, context: str) -> Leaf:
        """Converts a single value or a list to text of the engine's language. Raises InputError for
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
        """Converts a value to text of the engine's language, for use as an element of a list.
        `kind` is the type of the value.

        A record becomes one record value. An inner list is put into a record (see `boxed`), because
        a list cannot be an element of a list.
        """
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
        """Converts a value to the type of a colour set, for example an int to a real. Raises
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
        """Returns the record `value` with the field types of the record type `kind`. If a constant
        whole number is in a field that `kind` declares as real, it becomes a real number. Raises
        InputError if the type of a field does not fit."""
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
        """Returns the field values of an initial token. `value` is the token, which must be known
        while the file is read."""
        parts = (one for _, one in value.fields) if isinstance(value, Rec) else (value,)
        return [cell for one in parts for cell in self.cells(one, context)]

    def cells(self, value: CpnValue, context: str) -> Iterator[Cell]:
        """Yields the field values of an initial token or of a part of it. `value` must be known
        while the file is read."""
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
        """Returns the colours that the net definition needs. These are the colours of the colour
        sets in `used`, and the colours of records in lists. The key is a colour's name, and the
        value has (field name, type name) for each of its fields."""
        made: dict[str, list[tuple[str, str]]] = {}
        for name in sorted(used):
            made[self.colour_name(name)] = self.fields(self.sets[name].kind, context)
        waiting = [name for name in self.held if name not in made]
        while waiting:
            for name in waiting:
                made[name] = self.fields(self.held[name], context)
            # The call of `fields` may have added colours for lists within these records.
            waiting = [name for name in self.held if name not in made]
        return made

    def colour_name(self, name: str) -> str:
        """Returns the name that a colour set of the file has in net definitions."""
        kind = self.sets[name].kind
        return self.names.get(kind, name) if isinstance(kind, Struct) else name

    # Functions that list the values of colour sets with few values.

    def structs(self, kind: Struct, parts: list[tuple[str, str]], context: str) -> list[CpnValue]:
        """Returns all records of the type `kind`. `parts` has the name and the colour set of each
        field. Raises InputError if a field's colour set is too large, or if there are too many
        records."""
        choices = [self.members(name, context) for _, name in parts]
        count = 1
        for one in choices:
            count *= len(one)
        if count > MEMBERS_MOST:
            raise InputError(context, count, f"at most {MEMBERS_MOST} values can be listed")
        labels = [label for label, _ in parts]
        return [Rec(tuple(zip(labels, one, strict=True)), kind.union) for one in product(*choices)]


def boxed(kind: ListType) -> Struct:
    """Returns a record type whose only field has the list type `kind`. In a list of lists, each
    inner list is put into such a record, because lists cannot contain lists directly."""
    return Struct((("value", kind),))


def booleans() -> list[CpnValue]:
    """Returns both truth values, in the order of CPN Tools."""
    return [constant(False, BOOL), constant(True, BOOL)]


def between(low: int, high: int, context: str) -> list[CpnValue]:
    """Returns the numbers from `low` to `high`, both included, as values. Raises InputError if
    there are too many numbers."""
    if high - low >= MEMBERS_MOST:
        raise InputError(context, high - low + 1, f"at most {MEMBERS_MOST} values can be listed")
    return [constant(at, INT) for at in range(low, high + 1)]


def text_of(element: ET.Element | None) -> str:
    """Returns the text of an XML element with its lines joined by spaces; empty if there is no
    element."""
    return " ".join((element.text or "").split()) if element is not None else ""
