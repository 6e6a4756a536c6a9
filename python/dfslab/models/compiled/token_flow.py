"""Collects places and transitions through which tokens flow, and builds a net from them.

A token is a row of named fields. An arc lists only the fields that it changes. An unchanged field
is copied to the next place only if it is read there or at a later place. This keeps rows short.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce

from dfslab.documents.net_definition import Cell
from dfslab.nets.build import Net, Place, Put, Take
from dfslab.nets.inscription import field as field_of
from dfslab.nets.inscription import fields as fields_of
from dfslab.nets.inscription import number, substituted
from dfslab.spec.steps.expression import Condition, Expr

# An amount in seconds, bytes or counts: a number, or an expression over the token's fields.
Amount = float | Expr
# The changed fields of a token by name. Each new value is an expression over the tokens that the
# transition takes.
Changes = Mapping[str, Expr]

MAIN, OTHER = "a", "b"
# The fields of tokens with values of type real: times in seconds, sizes in bytes, random draws, and
# switches that occur in demands.
REALS = frozenset(
    ("demand", "demand_in", "lead", "size", "draw", "amount", "scattered", "unforced", "due")
)
# The fields of type int: numbers of clients, operations, files, nodes and call sites, and counts.
INTEGERS = frozenset(
    ("back", "back_in", "client", "file", "index", "kind", "left", "next", "node", "node_in")
    + ("offset", "owner", "phase", "pick", "readers", "t", "transfer")
)
# The fields of type int of which there are several: copies (c), keys of forks (k) and counters of
# loops (n), each with the depth of nesting, and the tickets of a station's lock.
SEVERAL_INTEGERS = re.compile(r"[ckn]\d+|ticket_.+")

# Functions that return an expression which reads the field `label` of a token. `main(label)` reads
# the transition's main token `a`, and `other(label)` its second token `b`.
main = partial(field_of, MAIN)
other = partial(field_of, OTHER)


@dataclass(frozen=True)
class Arc:
    """An arc that puts one token into `place`, with changed fields and a delay in seconds.

    Fields that are not changed are copied from the token `a`, or are 0 if the token is `fresh`.
    """

    place: str
    changes: Changes = field(default_factory=dict)
    delay: Amount = 0.0
    fresh: bool = False

    def token(self, labels: Iterable[str]) -> list[Expr]:
        """Returns the fields of the token that this arc puts: one expression for each name in
        `labels`.
        """
        return [
            self.changes[one] if one in self.changes else number(0) if self.fresh else main(one)
            for one in labels
        ]


# An entry of a part of the net: a function that returns the arcs that move a token into this part.
# The arguments are the fields that change on the way, and a delay in seconds.
EntryArcs = Callable[[Changes, Amount], list[Arc]]


def expressed(amount: Amount) -> Expr:
    """Returns an amount as an expression. A number becomes a constant of type real."""
    return amount if isinstance(amount, Expr) else number(float(amount))


def times(left: Amount, right: Amount) -> Amount:
    """Returns the product of two amounts: a number if both amounts are numbers, otherwise an
    expression."""
    if isinstance(left, Expr) or isinstance(right, Expr):
        return _folded(expressed(left) * expressed(right))
    return left * right


def plus(left: Amount, right: Amount) -> Amount:
    """Returns the sum of two amounts: a number if both amounts are numbers, otherwise an
    expression."""
    if isinstance(left, Expr) or isinstance(right, Expr):
        return _folded(expressed(left) + expressed(right))
    return left + right


def _folded(found: Expr) -> Amount:
    return float(found.value) if found.name == "number" else found


def after(row: Changes, changes: Changes) -> Changes:
    """Returns the changes of `row` and then those of `changes` as one mapping. If an expression in
    `changes` reads a field that `row` sets, it reads the value from `row`."""
    return {**row, **{name: reread(value, row) for name, value in changes.items()}}


def reread(value: Expr, row: Changes) -> Expr:
    """Returns `value` as an expression over the tokens that the transition takes. For this purpose,
    each field that `row` sets is replaced by its expression in `row`."""
    return substituted(value, MAIN, row)


def summed(first: Expr, *others: Expr) -> Expr:
    """Returns the sum of expressions as written. The sum is not simplified, so terms that are 0
    remain."""
    return reduce(lambda one, other: Expr("add", one, other), others, first)


def numbered(key: str, count: int, *at: Expr) -> Expr:
    """Returns the number of one part of a token that is split into `count` parts: key * count +
    index. `key` is the field with the token's number, and the index of the part is the sum of
    `at`."""
    return summed(main(key) * count, *at)


def type_of(label: str) -> type[int] | type[float]:
    """Returns the type of a token's field by its name. Raises AssertionError for a name without a
    declared type, because a real value would otherwise become an integer."""
    if label in REALS:
        return float
    known = label in INTEGERS or SEVERAL_INTEGERS.fullmatch(label)
    assert known, f"{label}: a field of tokens needs a type: REALS or INTEGERS"
    return int


@dataclass
class _Step:
    """A transition of the net. The fields of its input and output tokens are selected when the net
    is built."""

    name: str
    page: str
    inputs: Sequence[tuple[str, str]]
    arcs: Sequence[Arc]
    guard: Condition | None

    def reads(self, expressions: Iterable[Expr]) -> dict[str, set[str]]:
        """Returns for each input place, by name, the fields of its token that `expressions`
        read."""
        places = {variable: place for place, variable in self.inputs}
        found: dict[str, set[str]] = {}
        for expression in expressions:
            for one in fields_of(expression):
                found.setdefault(places[one.variable], set()).add(one.label)
        return found


class TokenFlow:
    """Collects places and transitions by name. Adding an existing place again adds only its initial
    tokens.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._places: dict[str, list[Mapping[str, Cell]]] = {}
        self._steps: dict[str, _Step] = {}

    def place(self, name: str, initial: Sequence[Mapping[str, Cell]] = ()) -> str:
        """Adds a FIFO place with its initial tokens. Returns the place's name."""
        self._places.setdefault(name, []).extend(initial)
        return name

    def transition(
        self,
        name: str,
        page: str,
        inputs: Sequence[str],
        arcs: Sequence[Arc],
        guard: Condition | None = None,
    ) -> str:
        """Adds a transition that takes token `a` (and `b`, if it has two input places). Returns the
        transition's name.
        """
        assert name not in self._steps, f"two transitions are called {name}"
        variables = list(zip(inputs, (MAIN, OTHER), strict=False))
        assert len(variables) == len(inputs), f"{name}: at most two inputs"
        self._steps[name] = _Step(name, page, variables, arcs, guard)
        return name

    def net(self, watched: Mapping[str, Sequence[Expr]]) -> Net:
        """Returns the net. `watched` has for each transition the expressions that monitors read
        there. The fields in these expressions are kept in the tokens."""
        needed = self._needed(watched)
        net, places = Net(self.name), dict[str, Place]()
        for name, initial in self._places.items():
            labels = needed[name]
            colour = "_".join(labels) or "unit"
            if colour not in net.colours:
                kinds = {one: type_of(one) for one in labels}
                net.colour(colour, **kinds)
            rows = [[row[one] for one in labels] for row in initial]
            places[name] = net.place(name, net.colours[colour], rows)
        for step in self._steps.values():
            net.transition(
                step.name,
                [Take(places[place], variable) for place, variable in step.inputs],
                [
                    Put(places[arc.place], arc.token(needed[arc.place]), arc.delay or None)
                    for arc in step.arcs
                ],
                guard=step.guard,
                page=step.page,
            )
        return net

    def _needed(self, watched: Mapping[str, Sequence[Expr]]) -> dict[str, list[str]]:
        """Returns for each place, by name, the fields that its tokens need. A place needs a field
        if the field is read there, or if it is copied from there to a place that needs it."""
        needed: dict[str, set[str]] = {name: set() for name in self._places}
        # For each transition: the number of needed fields of each of its output places at the last
        # examination. The sets of needed fields can only grow, so equal numbers mean equal sets. A
        # transition whose numbers are unchanged is not examined again.
        examined: dict[str, list[int]] = {}
        changed = True
        while changed:
            changed = False
            for step in reversed(self._steps.values()):
                counts = [len(needed[arc.place]) for arc in step.arcs]
                if examined.get(step.name) == counts:
                    continue
                examined[step.name] = counts
                expressions = list(watched.get(step.name, ()))
                if step.guard is not None:
                    expressions.append(step.guard)
                for arc in step.arcs:
                    expressions.append(expressed(arc.delay))
                    expressions += arc.token(needed[arc.place])
                for place, fields in step.reads(expressions).items():
                    if not fields <= needed[place]:
                        needed[place] |= fields
                        changed = True
        return {name: sorted(fields) for name, fields in needed.items()}
