"""Describes how firings change two numbers: the number of tokens of a place, and the number of
elements in the lists that its tokens hold. Delayed tokens are included, because CPN Tools counts
delayed tokens as soon as they are produced."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dfslab.documents.net_run import LevelChange
from dfslab.nets.build import Place, Put, Take, Transition
from dfslab.nets.colour import TokenValue
from dfslab.nets.inscription import DRAW
from dfslab.spec.input_error import InputError


@dataclass(frozen=True)
class PlaceLevel:
    """A number that firings change: the number of tokens of a place, or of the elements in its
    lists.

    `initial` is the number at time zero. `changes` has for each transition the change by a firing.
    `touching` has the names of all transitions with an arc to or from the place.
    """

    initial: int
    changes: tuple[LevelChange, ...]
    touching: tuple[str, ...]


@dataclass(frozen=True)
class Contents:
    """Functions that count tokens, or the elements of lists in tokens. `of_token` counts an initial
    token. `taken` counts what an input arc takes, and `put` what an output arc puts; both return
    expressions."""

    of_token: Callable[[TokenValue], int]
    taken: Callable[[Take], str]
    put: Callable[[Put], str]


@dataclass(frozen=True)
class PlaceLevels:
    """Derives levels (`PlaceLevel`) from the transitions of a net and its places, which are given
    by name.

    `start` has the names of the transitions that only delay initial tokens. Their firings change no
    level, because CPN Tools counts delayed initial tokens from the start. `drawing` has the names
    of the net's functions that draw at random.
    """

    places: Mapping[str, Place]
    transitions: Sequence[Transition]
    start: Collection[str]
    drawing: Collection[str]

    def tokens(self, place: str) -> PlaceLevel:
        """Returns the number of tokens of a place. Raises InputError if a firing changes it by a
        number that a monitor cannot compute."""
        return self._level(
            place, Contents(lambda token: 1, lambda take: str(take.count), lambda put: _count(put))
        )

    def list_length(self, place: str) -> PlaceLevel:
        """Returns the number of elements in all lists of a place whose colour set is a list. Raises
        InputError if a firing changes it by a number that a monitor cannot compute."""
        contents = Contents(_list_length, lambda take: f"length({take.variable}.value)", _length)
        return self._level(place, contents)

    def check(self, text: str, context: str) -> None:
        """Raises InputError if an expression draws at random."""
        own = (name for name in self.drawing if f"{name}(" in text)
        if DRAW.search(text) or any(own):
            reason = "draws at random, which a monitor cannot repeat; draw it in a code segment"
            raise InputError(context, text[:60], reason)

    def _level(self, place: str, contents: Contents) -> PlaceLevel:
        context = f"place {place}"
        changes, touching = [], []
        for one in self.transitions:
            if one.name in self.start:
                continue
            if any(reset.name == place for reset in one.reset):
                reason = "has a reset arc, whose tokens a monitor does not count; count firings"
                raise InputError(context, one.name, reason)
            taken = [contents.taken(take) for take in one.takes if take.place.name == place]
            put = [contents.put(each) for each in one.puts if each.place.name == place]
            if taken or put:
                touching.append(one.name)
            by = _difference(put, taken)
            self.check(by, context)
            if by != "0":
                changes.append(LevelChange(transition=one.name, by=by))
        initial = sum(contents.of_token(token) for token in self._initial(place))
        return PlaceLevel(initial, tuple(changes), tuple(touching))

    def _initial(self, place: str) -> Iterator[TokenValue]:
        yield from self.places[place].initial
        for one in self.transitions:
            if one.name in self.start and one.puts[0].place.name == place:
                yield from one.takes[0].place.initial


def _difference(put: Sequence[str], taken: Sequence[str]) -> str:
    """Returns the sum of the terms in `put` minus the sum of the terms in `taken`, as an
    expression. Terms that occur in both sums cancel."""
    times = Counter(put)
    times.subtract(taken)
    number = sum(int(one) * count for one, count in times.items() if one.isdigit())
    varying = {one: count for one, count in times.items() if count and not one.isdigit()}
    added = [f"{'' if count == 1 else f'{count} * '}{one}" for one, count in varying.items()]
    return " + ".join([str(number)] * (number != 0 or not added) + added)


def _count(put: Put) -> str:
    return str(put.count) if isinstance(put.count, int) else f"({put.count})"


def _length(put: Put) -> str:
    token = put.token
    text = f"{token}.value" if isinstance(token, str) else str((token or ("[]",))[0])
    if re.search(r"\bturn\b", text):
        reason = "tokens of one arc have different lists, whose lengths a monitor does not add"
        raise InputError(f"place {put.place.name}", text[:60], reason)
    count = "" if put.count == 1 else f"{_count(put)} * "
    return f"{count}length({text})"


def _list_length(token: TokenValue) -> int:
    fields = token if isinstance(token, Sequence) else (token,)
    return len(fields[0]) if isinstance(fields[0], Sequence) else 0
