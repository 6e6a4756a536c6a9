"""Evaluates multisets of tokens in CPN ML: counts of tokens, sums, differences and delays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from dfslab.nets.cpn.cpn_match import PatternReader, equal
from dfslab.nets.cpn.cpn_merge import both, merged, negated
from dfslab.nets.cpn.cpn_merge import operated as single
from dfslab.nets.cpn.cpn_ml import Tree
from dfslab.nets.cpn.cpn_values import INT, REAL, TRUE, Bag, BagEntry, CpnValue, Env, Leaf, constant

TOKENS_MOST = 100_000


class MultisetEvaluator(PatternReader, Protocol):
    """The attributes and methods of an evaluator that are needed to evaluate multisets."""

    @property
    def hoist(self) -> Callable[[Leaf, str], Leaf] | None:
        """Turns a random value into a local of a transition; None if locals are impossible."""

    def local(self, value: Leaf) -> Leaf:
        """Returns the local of a transition for a random value, which is drawn once per firing."""

    def value(self, tree: Tree, env: Env) -> CpnValue:
        """Evaluates an expression; `env` has the values of local names."""

    def leaf(self, tree: Tree, env: Env, wanted: tuple[Any, ...], words_of: str) -> Leaf:
        """Evaluates an expression that must have a single value of one of the types in `wanted`.
        `words_of`: the words for these types in the error message."""

    def bag(self, value: CpnValue) -> Bag:
        """Converts a value to a multiset of tokens."""


def many(evaluator: MultisetEvaluator, tree: Tree, env: Env) -> CpnValue:
    """Evaluates a term such as 3`x, which is a multiset of three tokens that are equal to x."""
    count = evaluator.leaf(tree.parts[0], env, (INT,), "a count")
    if count.known and not 0 <= count.constant <= TOKENS_MOST:
        raise evaluator.wrong(count.constant, f"a count is a number up to {TOKENS_MOST}")
    return Bag((BagEntry(evaluator.value(tree.parts[1], env), count),))


def total(evaluator: MultisetEvaluator, tree: Tree, env: Env) -> CpnValue:
    """Evaluates the operator `++`, which adds multisets."""
    bags = [evaluator.bag(evaluator.value(one, env)) for one in tree.parts]
    return Bag(tuple(entry for one in bags for entry in one.entries))


def less(evaluator: MultisetEvaluator, tree: Tree, env: Env) -> CpnValue:
    """Evaluates the operator `--`, which removes the tokens of the right multiset from the left
    multiset. The values of the tokens may be unknown while the file is read.

    Raises InputError if a needed number of tokens is unknown at that time. The needed numbers are
    those of each entry of the right multiset, and those of each entry of the left multiset from
    which tokens may be removed.
    """
    left, right = (evaluator.bag(evaluator.value(one, env)) for one in tree.parts)
    kept = list(left.entries)
    for gone in right.entries:
        if not gone.count.known or gone.when or gone.each:
            raise evaluator.wrong("--", "takes off a number of tokens that is known")
        for at, entry in enumerate(kept):
            kept[at] = without(evaluator, entry, gone)
    return Bag(tuple(one for one in kept if not one.count.known or one.count.constant > 0))


def operated(evaluator: MultisetEvaluator, word: str, left: CpnValue, right: CpnValue) -> CpnValue:
    """Evaluates an operator of multisets: `**` multiplies the numbers of tokens, and the other
    operators compare two multisets. Raises InputError if the tokens of a multiset are the elements
    of a list that only the run knows, or if the factor of `**` is no int."""
    if word == "**":
        if not isinstance(left, Leaf) or left.kind != INT:
            raise evaluator.wrong("**", "takes an int and a multiset, as in 2 ** ms")
        bag, factor = evaluator.bag(right), left
        counts = [single("*", factor, one.count, evaluator) for one in bag.entries]
        if any(one.each for one in bag.entries):
            raise evaluator.wrong("**", "takes a multiset of terms; use List.tabulate for a list")
        pairs = zip(bag.entries, counts, strict=True)
        return Bag(tuple(replace(one, count=count) for one, count in pairs))
    first, second = evaluator.bag(left), evaluator.bag(right)
    if any(one.each for one in (*first.entries, *second.entries)):
        raise evaluator.wrong(word[:-2], "compares multisets of terms; compare the lists with =")
    if word in (">>ms", ">>=ms"):
        first, second = second, first
    inside, around = _within(evaluator, first, second), _within(evaluator, second, first)
    if word in ("<<=ms", ">>=ms"):
        return inside
    if word in ("<<ms", ">>ms"):
        return both("&&", inside, negated(around))
    same = both("&&", inside, around)
    return same if word == "==ms" else negated(same)


def _within(evaluator: MultisetEvaluator, small: Bag, large: Bag) -> Leaf:
    """Returns whether the multiset `large` has each token of `small` at least as often."""
    found = TRUE
    for entry in small.entries:
        needed, there = (_times(evaluator, entry.value, bag) for bag in (small, large))
        found = both("&&", found, single("<=", needed, there, evaluator))
    return found


def _times(evaluator: MultisetEvaluator, value: CpnValue, bag: Bag) -> Leaf:
    """Returns how often a multiset has a token with this value."""
    total_count = constant(0, INT)
    for entry in bag.entries:
        same = equal(entry.value, value, evaluator)
        when = same if entry.when is None else both("&&", entry.when, same)
        count = merged(when, entry.count, constant(0, INT), evaluator)
        assert isinstance(count, Leaf)
        total_count = (
            count if total_count.constant == 0 else single("+", total_count, count, evaluator)
        )
    return total_count


def without(evaluator: MultisetEvaluator, entry: BagEntry, gone: BagEntry) -> BagEntry:
    """Removes the tokens `gone` from the tokens `entry` of a multiset. Returns the remaining tokens
    of `entry`. All tokens of an entry have one value.

    - If the values of `entry` and `gone` are equal, the count of `entry` is reduced by the count of
      `gone`, but not below 0.
    - If the values differ, `entry` is returned unchanged.
    - If only the run shows whether the values are equal, the result contains the comparison.

    Raises InputError if the values may be equal and the count of `entry` is not known.
    """
    same = equal(entry.value, gone.value, evaluator)
    if same.known and not same.constant:
        return entry
    if not entry.count.known or entry.each:
        raise evaluator.wrong("--", "takes tokens off a number that is known")
    left = constant(max(0, entry.count.constant - gone.count.constant), INT)
    if same.known:
        return replace(entry, count=left)
    if left.constant == 0:
        rest = negated(same)
        when = rest if entry.when is None else both("&&", entry.when, rest)
        return replace(entry, when=when)
    count = merged(same, left, entry.count, evaluator)
    assert isinstance(count, Leaf)
    return replace(entry, count=count)


def timed(evaluator: MultisetEvaluator, tree: Tree, env: Env) -> CpnValue:
    """Evaluates tokens with a time stamp or a delay (`@+`), and returns the multiset of delayed
    tokens. A time stamp of @0 is ignored. Tokens with another time stamp get the mark `is_stamped`,
    because only an initial marking may have them. Raises InputError if a time stamp is no known
    number."""
    bag = evaluator.bag(evaluator.value(tree.parts[0], env))
    delay = evaluator.leaf(tree.parts[1], env, (INT, REAL), "a delay")
    if tree.kind == "stamp" and not delay.known:
        raise evaluator.wrong(delay.text, "a time stamp is a known number; use @+ for a delay")
    if tree.kind == "stamp" and delay.constant == 0:
        return bag
    entries = bag.entries
    if len(entries) > 1 and delay.draws and evaluator.hoist is not None:
        delay = evaluator.local(delay)
    is_stamp = tree.kind == "stamp"
    return Bag(
        tuple(replace(one, delay=delay, is_stamped=is_stamp or one.is_stamped) for one in entries)
    )
