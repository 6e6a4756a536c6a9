"""Colours, which are the types of tokens, and enumerations. A colour converts a token to a row of
field values."""

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
    """An enumeration: a finite set of named values."""

    name: str
    values: tuple[str, ...]

    def __getitem__(self, value: str) -> Expr:
        """Returns one value of the enumeration as an expression. Raises InputError for an unknown
        value."""
        if value not in self.values:
            allowed = f"the values are {', '.join(self.values)}"
            raise InputError(f"enumeration {self.name}", value, allowed)
        return symbol(value)


@dataclass(frozen=True)
class Colour:
    """A colour, which is the type of a token. `fields` has pairs of a field name and a type name.
    The unit colour has no fields."""

    name: str
    fields: tuple[tuple[str, str], ...] = ()

    def token(self, variable: str) -> Token:
        """Returns the token that an arc binds to `variable`. The token's fields are expressions
        for use in inscriptions."""
        return Token(variable, self)

    def row(self, token: TokenValue) -> list[Cell]:
        """Returns the field values of a token in the order of the colour's fields. Raises
        InputError if the token does not fit the colour.

        A token may be a sequence in the order of the fields, or a mapping from field names to
        values. A token with one field may also be the value of this field. If the only field is a
        list, the value is a Python list of single values or of tuples (records).
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
    """A token as inscriptions use it. `job["size"]` is the field `size` of the token `job`."""

    variable: str
    colour: Colour

    def __getitem__(self, label: str) -> Field:
        """Returns a field of the token as an expression. Raises InputError if the colour has no
        field of that name."""
        kinds = dict(self.colour.fields)
        if label not in kinds:
            allowed = f"the fields are {', '.join(kinds) or '(none)'}"
            raise InputError(f"colour {self.colour.name}", label, allowed)
        return (flag if kinds[label] == "bool" else field)(self.variable, label)


UNIT = Colour("unit")

Single: TypeAlias = type | str | Enumeration | Colour
FieldKind: TypeAlias = Single | list[Single]
# The forms in which an initial token can be given: the value of its only field, the values of its
# fields in order, or a mapping from its field names to values.
TokenValue: TypeAlias = Cell | Sequence[Cell] | Mapping[str, Cell]


def fields_of(fields: Mapping[str, FieldKind]) -> tuple[tuple[str, str], ...]:
    """Returns the pairs (field name, type name) of a colour. If a field is a record, the fields of
    the record replace it. The names of the record's fields get the name of the replaced field as a
    prefix.

    In `fields`, `[int]` is a list of ints, and `[hue]` a list of values of the enumeration `hue`.
    `[job]` is a list of records of the colour `job`, whose fields must all be single values.
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
    """Returns the name of a type: the type `kind` of a field or of a list's elements. The name is
    for example "int", or the name of an enumeration. For lists of records, the name is that of a
    colour.

    `name` is the field's name for error messages. Raises InputError if `kind` is not an allowed
    type, or if it is a colour with a list among its fields.
    """
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
