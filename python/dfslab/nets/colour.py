"""Colour sets: what tokens carry, as the fields of flat rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dfslab.spec.model import InputError

PLAIN = {int: "int", float: "real", bool: "bool"}


@dataclass(frozen=True)
class Enumeration:
    """A finite set of words."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Colour:
    """Named fields with types; none for the unit colour."""

    name: str
    fields: tuple[tuple[str, str], ...] = ()

    def row(self, token: Any) -> list[Any]:
        """A token as a row: a value, a sequence in the order of the fields, or a mapping."""
        names = [name for name, _ in self.fields]
        if isinstance(token, Mapping):
            if sorted(token) != sorted(names):
                raise InputError(f"colour {self.name}", dict(token), f"fields are {names}")
            return [token[name] for name in names]
        if isinstance(token, Sequence) and not isinstance(token, str):
            return list(token)
        return [token]


UNIT = Colour("unit")

FieldKind = type | str | Enumeration | Colour


def fields_of(fields: Mapping[str, FieldKind]) -> tuple[tuple[str, str], ...]:
    """Fields with the names of their types; a record within a record is laid out in place."""
    flat: list[tuple[str, str]] = []
    for name, kind in fields.items():
        if isinstance(kind, Colour):
            flat += [(f"{name}_{inner}", word) for inner, word in kind.fields]
        elif isinstance(kind, Enumeration):
            flat.append((name, kind.name))
        elif isinstance(kind, type) and kind in PLAIN:
            flat.append((name, PLAIN[kind]))
        elif isinstance(kind, str):
            flat.append((name, kind))
        else:
            raise InputError(f"field {name}", kind, "a type is int, float, bool, an enumeration "
                             "or a colour")  # fmt: skip
    return tuple(flat)
