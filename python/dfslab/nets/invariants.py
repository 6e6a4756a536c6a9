"""Computes place invariants. A place invariant is a weighted sum of the numbers of tokens in places
that stays the same at every firing. The colours of tokens are ignored.

The computed invariants are the minimal invariants with non-negative weights (semiflows). They are
computed by Farkas' algorithm in the form of Martinez and Silva 1982. Reset arcs and arcs with a
computed count change the number of tokens of a place by an unknown amount. A place with such an arc
belongs to no invariant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from dfslab.documents.net_definition import InputDefinition, NetDefinition, OutputDefinition
from dfslab.nets.build import Net, definition_of
from dfslab.spec.input_error import InputError

ROWS_MOST = 2_000


@dataclass(frozen=True)
class Invariant:
    """A place invariant. `weights` has the weight of each place. `tokens` is the weighted sum of
    the numbers of tokens, which is the same in every marking."""

    weights: Mapping[str, int]
    tokens: int

    def __str__(self) -> str:
        terms = (name if one == 1 else f"{one} {name}" for name, one in self.weights.items())
        return f"{' + '.join(terms)} = {self.tokens}"


def of_places(net: Net | NetDefinition) -> list[Invariant]:
    """Returns all minimal place invariants of a net. Those with the fewest places come first.

    A token in transit counts as a token of its destination. Raises InputError if the algorithm
    needs more than ROWS_MOST weighted sums in one step.
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
    """Returns the places with a reset arc or an arc with a computed count. A firing changes the
    number of their tokens by an unknown amount."""
    return {
        place
        for one in definition.transitions
        for place in (
            *(arc.place for arc in one.reset),
            *(arc.place for arc in one.out if _number(arc) is None),
        )
    }


def _changes(definition: NetDefinition, place: str) -> tuple[int, ...]:
    """Returns a tuple with one number for each transition: by how much a firing of the transition
    changes the number of tokens in a place."""

    def taken(arcs: Sequence[InputDefinition]) -> int:
        return sum(arc.place == place for arc in arcs)

    def put(arcs: Sequence[OutputDefinition]) -> int:
        return sum(_number(arc) or 0 for arc in arcs if arc.place == place)

    return tuple(put(one.out) - taken(one.in_) for one in definition.transitions)


def _number(arc: OutputDefinition) -> int | None:
    """Returns the number of tokens that an output arc puts; None if the number is computed."""
    text = "1" if arc.count is None else str(arc.count)
    return int(text) if text.isascii() and text.isdigit() else None


# A weighted sum of the numbers of tokens in places: (weight of each place, change of the sum by a
# firing of each transition).
WeightedSum = tuple[tuple[int, ...], tuple[int, ...]]


def _semiflows(rows: list[WeightedSum], transitions: int) -> Iterator[tuple[int, ...]]:
    """Yields the weights of the minimal sums that no transition changes. Raises InputError if there
    are more than ROWS_MOST sums.

    The transitions are considered one after the other. Each sum that a transition increases is
    combined with each sum that the same transition decreases. The weights are such that the
    transition does not change the combined sum.
    """
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
    """Returns the combination of two sums that the transition with index `at` does not change. The
    weights of the combination are the smallest possible whole numbers."""
    a, b = -other[1][at], one[1][at]
    weights = [a * x + b * y for x, y in zip(one[0], other[0], strict=True)]
    changes = [a * x + b * y for x, y in zip(one[1], other[1], strict=True)]
    divisor = gcd(*weights, *changes) or 1
    return tuple(x // divisor for x in weights), tuple(x // divisor for x in changes)


def _minimal(rows: list[WeightedSum]) -> list[WeightedSum]:
    """Returns the minimal sums. The support of a sum is the set of places with a weight other than
    0. A sum is minimal if no other sum's support is a proper subset of its support. Of sums with
    equal support, only the first is returned."""
    supports = [frozenset(at for at, one in enumerate(row[0]) if one) for row in rows]
    kept: dict[frozenset[int], WeightedSum] = {}
    for support, row in zip(supports, rows, strict=True):
        if not any(other < support for other in supports):
            kept.setdefault(support, row)
    return list(kept.values())
