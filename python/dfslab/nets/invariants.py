"""Place invariants: weighted sums of tokens that no firing changes, colours left aside.

The minimal ones with weights of 0 and more (semiflows), by Farkas' algorithm as Martinez and Silva
1982 give it. Places that a reset or a counted arc changes by an unknown number are in none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from dfslab.documents.net_definition import InputDefinition, NetDefinition, OutputDefinition
from dfslab.nets.build import Net, definition_of
from dfslab.spec.model import InputError

ROWS_MOST = 2_000


@dataclass(frozen=True)
class Invariant:
    """Places with their weights, and the sum that holds in every marking."""

    weights: Mapping[str, int]
    tokens: int

    def __str__(self) -> str:
        terms = (name if one == 1 else f"{one} {name}" for name, one in self.weights.items())
        return f"{' + '.join(terms)} = {self.tokens}"


def of_places(net: Net | NetDefinition) -> list[Invariant]:
    """All minimal invariants of a net, shortest first.

    Tokens on their way to a place count as there. InputError where there would be more than some
    thousands on the way to the answer.
    """
    definition = definition_of(net)
    places = [one.name for one in definition.places]
    first = {one.name: len(one.initial) for one in definition.places}
    unknown = _unknown(definition)
    rows = [
        (tuple(int(name == other) for other in places), _changes(definition, name))
        for name in places
        if name not in unknown
    ]
    found = []
    for weights in _semiflows(rows, len(definition.transitions)):
        named = {name: one for name, one in zip(places, weights, strict=True) if one}
        found.append(Invariant(named, sum(first[name] * one for name, one in named.items())))
    return sorted(found, key=lambda one: (len(one.weights), list(one.weights)))


def _unknown(definition: NetDefinition) -> set[str]:
    """Places of which a firing takes or makes a number of tokens that the net does not say."""
    return {
        place
        for one in definition.transitions
        for place in (
            *(arc.place for arc in one.reset),
            *(arc.place for arc in one.out if arc.count is not None),
        )
    }


def _changes(definition: NetDefinition, place: str) -> tuple[int, ...]:
    """What each transition adds to a place."""

    def count(arcs: Sequence[InputDefinition] | Sequence[OutputDefinition]) -> int:
        return sum(arc.place == place for arc in arcs)

    return tuple(count(one.out) - count(one.in_) for one in definition.transitions)


# The weights of the places in a sum, and what each transition adds to it.
WeightedSum = tuple[tuple[int, ...], tuple[int, ...]]


def _semiflows(rows: list[WeightedSum], transitions: int) -> Iterator[tuple[int, ...]]:
    """Each transition is annulled in turn by adding rows of opposite sign."""
    for at in range(transitions):
        kept = [row for row in rows if row[1][at] == 0]
        plus = [row for row in rows if row[1][at] > 0]
        minus = [row for row in rows if row[1][at] < 0]
        for one in plus:
            for other in minus:
                kept.append(_annulled(one, other, at))
                if len(kept) > ROWS_MOST:
                    reason = f"has more than {ROWS_MOST} sums to look at"
                    raise InputError("invariants", len(kept), reason)
        rows = _minimal(kept)
    yield from (weights for weights, _ in rows)


def _annulled(one: WeightedSum, other: WeightedSum, at: int) -> WeightedSum:
    """The smallest sum of two rows in which a transition changes nothing."""
    a, b = -other[1][at], one[1][at]
    weights = [a * x + b * y for x, y in zip(one[0], other[0], strict=True)]
    changes = [a * x + b * y for x, y in zip(one[1], other[1], strict=True)]
    divisor = gcd(*weights, *changes) or 1
    return tuple(x // divisor for x in weights), tuple(x // divisor for x in changes)


def _minimal(rows: list[WeightedSum]) -> list[WeightedSum]:
    """The rows whose places hold no other row's."""
    supports = [frozenset(at for at, one in enumerate(row[0]) if one) for row in rows]
    kept: dict[frozenset[int], WeightedSum] = {}
    for support, row in zip(supports, rows, strict=True):
        if not any(other < support for other in supports):
            kept.setdefault(support, row)
    return list(kept.values())
