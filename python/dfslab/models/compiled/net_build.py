"""A timed coloured Petri net under construction, and the JSON document that the engine reads.

A token is a row of named fields. An arc lists only the fields that change; all others are copied
from the transition's main token `a`. The document keeps at each place only the fields that are read
there or downstream, so that rows stay short.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Seconds, bytes, counts: a number, or an expression over the token's fields.
Amount = float | str
Row = Mapping[str, str]

REALS = {"demand", "demand_in", "lead", "size", "draw", "amount", "scattered", "unforced", "due"}
_FIELD = re.compile(r"\b([ab])\.(\w+)")


@dataclass(frozen=True)
class Arc:
    """An arc that puts one token into `place`: changed fields, and a delay in seconds.

    Other fields are copied from `a`; those of a `fresh` token are 0.
    """

    place: str
    row: Row = field(default_factory=dict)
    delay: Amount = 0.0
    fresh: bool = False

    def token(self, fields: Iterable[str]) -> list[str]:
        """The expression of every field."""
        return [self.row.get(f, "0" if self.fresh else f"a.{f}") for f in fields]


# A continuation: (changed fields, delay) -> arcs that move the token to the next places.
Entry = Callable[[Row, Amount], list[Arc]]


def text(amount: Amount) -> str:
    """An amount in the inscription language."""
    return amount if isinstance(amount, str) else repr(float(amount))


def times(left: Amount, right: Amount) -> Amount:
    """Product; numbers are folded."""
    if isinstance(left, float | int) and isinstance(right, float | int):
        return left * right
    for one, other in ((left, right), (right, left)):
        if one in (0.0, 1.0):
            return other if one else 0.0
    return f"{_bracket(left)} * {_bracket(right)}"


def plus(left: Amount, right: Amount) -> Amount:
    """Sum; numbers are folded."""
    if isinstance(left, float | int) and isinstance(right, float | int):
        return left + right
    for one, other in ((left, right), (right, left)):
        if one == 0.0:
            return other
    return f"{_bracket(left)} + {_bracket(right)}"


def _bracket(amount: Amount) -> str:
    return f"({amount})" if isinstance(amount, str) and " " in amount else text(amount)


def after(row: Row, changes: Row) -> Row:
    """`row` followed by `changes`, whose expressions read the fields that `row` has set."""
    return {**row, **{name: substituted(value, row) for name, value in changes.items()}}


def substituted(expression: str, row: Row) -> str:
    """An expression over the fields that `row` has set, rewritten over the input token."""

    def replace(match: re.Match[str]) -> str:
        value = row.get(match[2]) if match[1] == "a" else None
        if value is None:
            return match[0]
        return f"({value})" if " " in value else value

    return _FIELD.sub(replace, expression)


@dataclass
class _Transition:
    name: str
    page: str
    inputs: Sequence[tuple[str, str]]
    arcs: Sequence[Arc]
    guard: str

    def reads(self, expressions: Iterable[str]) -> dict[str, set[str]]:
        """Input place -> fields of its token that the expressions read."""
        places = {variable: place for place, variable in self.inputs}
        found: dict[str, set[str]] = {}
        for expression in expressions:
            for variable, name in _FIELD.findall(expression):
                found.setdefault(places[variable], set()).add(name)
        return found


class Net:
    """Places and transitions by name; adding an existing place again adds its initial tokens."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._places: dict[str, list[Mapping[str, Any]]] = {}
        self._transitions: dict[str, _Transition] = {}

    def place(self, name: str, initial: Sequence[Mapping[str, Any]] = ()) -> str:
        """Add a FIFO place with its initial tokens; returns its name."""
        self._places.setdefault(name, []).extend(initial)
        return name

    def transition(
        self, name: str, page: str, inputs: Sequence[str], arcs: Sequence[Arc], guard: str = ""
    ) -> str:
        """Add a transition that takes token `a` (and `b`) from its input places."""
        assert name not in self._transitions, f"two transitions are called {name}"
        variables = list(zip(inputs, "ab", strict=False))
        assert len(variables) == len(inputs), f"{name}: at most two inputs"
        self._transitions[name] = _Transition(name, page, variables, arcs, guard)
        return name

    def document(self, watched: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """The net as JSON data; `watched`: transition -> expressions that monitors read."""
        needed = self._needed(watched)
        colours: dict[str, list[list[str]]] = {}
        places = []
        for name, initial in self._places.items():
            fields = needed[name]
            colour = "_".join(fields) or "unit"
            colours[colour] = [[f, "real" if f in REALS else "int"] for f in fields]
            rows = [[row[f] for f in fields] for row in initial]
            places.append({"name": name, "colour": colour, "discipline": "fifo", "initial": rows})
        return {
            "name": self.name,
            "colours": colours,
            "constants": {},
            "places": places,
            "transitions": [self._rendered(t, needed) for t in self._transitions.values()],
        }

    def _needed(self, watched: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Place -> fields that are read there, or copied to a place where they are read."""
        needed: dict[str, set[str]] = {name: set() for name in self._places}
        changed = True
        while changed:
            changed = False
            for transition in reversed(self._transitions.values()):
                expressions = [transition.guard, *watched.get(transition.name, ())]
                for arc in transition.arcs:
                    expressions.append(text(arc.delay))
                    expressions += arc.token(needed[arc.place])
                for place, fields in transition.reads(expressions).items():
                    if not fields <= needed[place]:
                        needed[place] |= fields
                        changed = True
        return {name: sorted(fields) for name, fields in needed.items()}

    def _rendered(
        self, transition: _Transition, needed: Mapping[str, Sequence[str]]
    ) -> dict[str, Any]:
        out = []
        for arc in transition.arcs:
            rendered: dict[str, Any] = {"place": arc.place, "token": arc.token(needed[arc.place])}
            if arc.delay:
                rendered["delay"] = arc.delay
            out.append(rendered)
        table: dict[str, Any] = {"name": transition.name, "page": transition.page}
        if transition.guard:
            table["guard"] = transition.guard
        inputs = [{"place": place, "var": variable} for place, variable in transition.inputs]
        return {**table, "in": inputs, "out": out}
