"""Colour sets: what tokens carry, as the fields of flat rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dfslab.documents.net_definition import Cell
from dfslab.nets.inscription import Field, field, flag
from dfslab.spec.input_error import InputError
from dfslab.spec.steps.expression import Expr, symbol

PLAIN = {int: "int", float: "real", bool: "bool"}
LIST = "list "


@dataclass(frozen=True)
class Enumeration:
    """A finite set of words."""

    name: str
    values: tuple[str, ...]

    def __getitem__(self, value: str) -> Expr:
        """One of the words as an expression."""
        if value not in self.values:
            allowed = f"the values are {', '.join(self.values)}"
            raise InputError(f"enumeration {self.name}", value, allowed)
        return symbol(value)


@dataclass(frozen=True)
class Colour:
    """Named fields with types; none for the unit colour."""

    name: str
    fields: tuple[tuple[str, str], ...] = ()

    def token(self, variable: str) -> Token:
        """The token that an arc calls `variable`; its fields are expressions."""
        return Token(variable, self)

    def row(self, token: TokenValue) -> list[Cell]:
        """A token as a row: a value, a sequence in the order of the fields, or a mapping.

        Where the only field is a list, a Python list of single values, or of tuples that are
        records, is that field.
        """
        names = [name for name, _ in self.fields]
        if isinstance(token, Mapping):
            if sorted(token) != sorted(names):
                raise InputError(f"colour {self.name}", dict(token), f"fields are {names}")
            return [token[name] for name in names]
        lone = len(self.fields) == 1 and self.fields[0][1].startswith(LIST)
        if lone and isinstance(token, list) and not any(isinstance(one, list) for one in token):
            return [token]
        if isinstance(token, Sequence) and not isinstance(token, str):
            return list(token)
        return [token]


@dataclass(frozen=True)
class Token:
    """A token of a colour as inscriptions read it: `job["size"]` is its field `size`."""

    variable: str
    colour: Colour

    def __getitem__(self, label: str) -> Field:
        """A field as an expression; InputError where the colour has none of that name."""
        kinds = dict(self.colour.fields)
        if label not in kinds:
            allowed = f"the fields are {', '.join(kinds) or '(none)'}"
            raise InputError(f"colour {self.colour.name}", label, allowed)
        return (flag if kinds[label] == "bool" else field)(self.variable, label)


UNIT = Colour("unit")

Single: TypeAlias = type | str | Enumeration | Colour
FieldKind: TypeAlias = Single | list[Single]
# A first token: the value of its only field, its values in order, or its values by field.
TokenValue: TypeAlias = Cell | Sequence[Cell] | Mapping[str, Cell]


def fields_of(fields: Mapping[str, FieldKind]) -> tuple[tuple[str, str], ...]:
    """Fields with the names of their types; a record within a record is laid out in place.

    `[int]` is a list of whole numbers, `[hue]` one of an enumeration's values, and `[job]` one of
    records, all of whose fields are single values.
    """
    flat: list[tuple[str, str]] = []
    for name, kind in fields.items():
        if isinstance(kind, Colour):
            flat += [(f"{name}_{inner}", word) for inner, word in kind.fields]
        elif isinstance(kind, list):
            if len(kind) != 1 or isinstance(kind[0], list):
                raise InputError(f"field {name}", kind, "a list holds one type, as in [int]")
            flat.append((name, LIST + _single(name, kind[0])))
        else:
            flat.append((name, _single(name, kind)))
    return tuple(flat)


def _single(name: str, kind: Single) -> str:
    """The name of a type of one value, or of the records that a list holds."""
    if isinstance(kind, Colour):
        if any(word.startswith(LIST) for _, word in kind.fields):
            raise InputError(f"field {name}", kind.name, "records in a list hold single values")
        return kind.name
    if isinstance(kind, Enumeration):
        return kind.name
    if isinstance(kind, type) and kind in PLAIN:
        return PLAIN[kind]
    if isinstance(kind, str):
        return kind
    raise InputError(
        f"field {name}",
        kind,
        "a type is int, float, bool, an enumeration, a colour, or a list of one",
    )
