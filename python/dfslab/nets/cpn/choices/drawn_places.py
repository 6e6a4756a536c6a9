"""Finds the places of a `.cpn` file whose tokens a firing draws at random.

CPN Tools draws which of the fitting tokens a firing takes. A place of the engine does so with the
discipline "random", and takes the token that arrived first with the discipline "fifo". The choice
has no effect in a place whose tokens are all equal, and in a place that never has two tokens. Such
places keep "fifo", because nets without random places run faster.

The engine finds tokens with equal fields by a table (a join), but not if all their places are
random. Places of several tokens that a guard joins with each other therefore keep "fifo", too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from dfslab.nets.build import Place, Take, Transition

# A bound on the work for one place: the number of sets of places that are tried.
SETS_MOST = 32
EQUALITY = re.compile(r"\((\w+)(?:\.\w+)+ == (\w+)(?:\.\w+)+\)")
AT_MOST_ONE = re.compile(r"if\(.*, (?:1, 0|0, 1)\)")
PATH = re.compile(r"\b(\w+)\.\w")


def draw_tokens(
    places: Iterable[Place], transitions: Sequence[Transition], single: Collection[str]
) -> None:
    """Gives the discipline "random" to the places whose tokens a firing draws. The colours of the
    places must be set. `single` has the names of the types that have one value only."""
    flows = _Flows(transitions)
    differing = [one for one in places if any(kind not in single for _, kind in one.colour.fields)]
    several = [one for one in differing if not flows.has_one_token(one)]
    names = {one.name for one in several}
    joined = {name for one in transitions for name in _joined(one, names)}
    for place in several:
        if place.name not in joined:
            place.discipline = "random"


class _Flows:
    """The numbers of tokens that the transitions take from and put into places."""

    def __init__(self, transitions: Sequence[Transition]) -> None:
        self.takes: list[dict[str, int]] = []
        self.puts: list[dict[str, int | None]] = []
        self.first: dict[str, int] = {}
        # The transitions that put tokens into a place, by the name of the place.
        self.makers: dict[str, list[int]] = {}
        for at, one in enumerate(transitions):
            takes, puts = dict[str, int](), dict[str, int | None]()
            for take in one.takes:
                takes[take.place.name] = takes.get(take.place.name, 0) + take.count
                self.first[take.place.name] = len(take.place.initial)
            for put in one.puts:
                most, before = _most(put.count), puts.get(put.place.name, 0)
                puts[put.place.name] = None if most is None or before is None else before + most
                self.first[put.place.name] = len(put.place.initial)
            self.takes.append(takes)
            self.puts.append(puts)
            for name in puts:
                self.makers.setdefault(name, []).append(at)

    def has_one_token(self, place: Place) -> bool:
        """Returns whether the place never has two tokens.

        A proof is a set of places that contains the place and has at most one token at first, such
        that no transition puts more tokens into the set than it takes from it. The sets are built
        from the place: where a transition adds to a set, one of its input places is included. False
        also means that none of the first SETS_MOST sets is a proof.
        """
        waiting, tried = [frozenset({place.name})], set[frozenset[str]]()
        while waiting and len(tried) < SETS_MOST:
            names = waiting.pop()
            if names in tried or sum(self.first.get(one, 0) for one in names) > 1:
                continue
            tried.add(names)
            growing = self._growing(names)
            if growing is None:
                return len(place.initial) <= 1
            waiting += [names | {one} for one in self.takes[growing] if one not in names]
        return False

    def _growing(self, names: frozenset[str]) -> int | None:
        """Returns the index of a transition that adds tokens to a set of places; None if no
        transition does."""
        for at in {at for name in names for at in self.makers.get(name, [])}:
            puts = [most for name, most in self.puts[at].items() if name in names]
            taken = sum(count for name, count in self.takes[at].items() if name in names)
            if any(most is None for most in puts) or sum(most or 0 for most in puts) > taken:
                return at
        return None


def _most(count: object) -> int | None:
    """Returns the largest number of tokens that an output arc puts; None if it is not known."""
    text = str(count)
    if text.isascii() and text.isdigit():
        return int(text)
    return 1 if AT_MOST_ONE.fullmatch(text) else None


def _joined(transition: Transition, several: set[str]) -> set[str]:
    """Returns the places of several tokens that must keep their order in a transition, because its
    guard joins their tokens by equal fields. `several` has all places of several tokens."""
    takes = {one.variable: one for one in transition.takes if one.variable}
    parts = str(transition.guard or "").split(" && ")
    pairs, searches = list[tuple[str, str]](), False
    for part in parts:
        found = EQUALITY.fullmatch(part)
        if found and found[1] in takes and found[2] in takes and found[1] != found[2]:
            pairs.append((found[1], found[2]))
        else:
            searches |= len(set(PATH.findall(part)) & takes.keys()) > 1
    kept = set[str]()
    for group in _groups(pairs):
        names = [takes[one].place.name for one in group if _is_several(takes[one], several)]
        if len(names) > 1 or searches:
            kept.update(names)
    return kept


def _is_several(take: Take, several: set[str]) -> bool:
    return take.place.name in several or take.place.discipline == "random"


def _groups(pairs: Sequence[tuple[str, str]]) -> list[set[str]]:
    """Returns the sets of names that pairs connect."""
    group_of: dict[str, set[str]] = {}
    for left, right in pairs:
        united = group_of.get(left, {left}) | group_of.get(right, {right})
        group_of.update(dict.fromkeys(united, united))
    return list({id(one): one for one in group_of.values()}.values())
